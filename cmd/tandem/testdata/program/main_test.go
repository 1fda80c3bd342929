package main

var _ int = `"tandem run" leaves tests out`
