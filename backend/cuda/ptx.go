package cuda

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// A ptxEntry is the head of a kernel in PTX.
type ptxEntry struct {
	params  []ptxParam
	reqntid [3]int // the group size that it demands; zero without
}

// A ptxParam is a parameter as PTX declares it.
type ptxParam struct {
	name    string
	size    int
	word    bool // one number of 64 bits, which may be an address
	pointer bool // marked as an address
}

// String is the parameter for messages.
func (q ptxParam) String() string {
	if q.pointer {
		return "an address"
	}
	return fmt.Sprintf("a scalar of %d bytes", q.size)
}

// agrees tells whether d can be the parameter's declaration in the text.
func (q ptxParam) agrees(d backend.Param) bool {
	if d.Buffer {
		return q.word
	}
	return !q.pointer && (d.Size == 0 || d.Size == q.size)
}

var (
	ptxComments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	ptxHead     = regexp.MustCompile(`\.entry\s+([\w$%]+)\s*(\([^)]*\))?\s*([^{;]*)[{;]`)
	ptxReqntid  = regexp.MustCompile(`\.reqntid\s+(\d+)\s*(?:,\s*(\d+))?\s*(?:,\s*(\d+))?`)
	ptxType     = regexp.MustCompile(`\.([busf])(8|16|32|64)\b`)
	ptxName     = regexp.MustCompile(`([\w$%]+)\s*(?:\[(\d+)\])?\s*$`)
)

// maxPTXParam is the bytes that all parameters of a kernel have at most, maxPTXGroup more
// work-items than any device has in a group.
const (
	maxPTXParam = 32764
	maxPTXGroup = 1 << 20
)

// parseEntry reads the head of the kernel of that name.
func parseEntry(ptx []byte, name string) (*ptxEntry, error) {
	var found []string
	for _, m := range ptxHead.FindAllStringSubmatch(ptxComments.ReplaceAllString(string(ptx), " "), -1) {
		if m[1] != name {
			found = append(found, m[1])
			continue
		}
		e := &ptxEntry{params: []ptxParam{}}
		if list := strings.TrimSpace(strings.Trim(m[2], "()")); list != "" {
			for _, text := range strings.Split(list, ",") {
				p, err := parseParam(strings.TrimSpace(text))
				if err != nil {
					return nil, err
				}
				e.params = append(e.params, p)
			}
		}
		if r := ptxReqntid.FindStringSubmatch(m[3]); r != nil {
			for i := range e.reqntid {
				n, _ := strconv.Atoi(r[i+1]) // the largest int where there are too many digits
				e.reqntid[i] = min(max(1, n), maxPTXGroup)
			}
		}
		return e, nil
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no kernel %s, nor any other", name)
	}
	return nil, fmt.Errorf("there is no kernel %s; there is %s", name, strings.Join(found, ", "))
}

// parseParam reads ".param .u64 .ptr .global .align 4 a" or ".param .align 16 .b8 v[16]".
func parseParam(s string) (ptxParam, error) {
	t, n := ptxType.FindStringSubmatch(s), ptxName.FindStringSubmatch(s)
	if !strings.HasPrefix(s, ".param") || t == nil || n == nil {
		return ptxParam{}, fmt.Errorf("%q is no parameter of a kernel in PTX", s)
	}
	bits, _ := strconv.Atoi(t[2])
	p := ptxParam{name: n[1], size: bits / 8, pointer: strings.Contains(s, ".ptr")}
	if n[2] != "" {
		count, err := strconv.Atoi(n[2])
		if err != nil || count < 1 || count > maxPTXParam/p.size {
			return ptxParam{}, fmt.Errorf("%q is no parameter of a kernel in PTX: all of them together have at most "+
				"%d bytes", s, maxPTXParam)
		}
		p.size *= count
	}
	p.word = n[2] == "" && p.size == 8 && t[1] != "f"
	return p, nil
}
