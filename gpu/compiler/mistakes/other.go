package mistakes

func second(x []int32, i int) int32 {
	return x[i] // mistake
}
