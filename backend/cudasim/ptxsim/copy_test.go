package ptxsim

import (
	"strings"
	"testing"
)

func TestAsyncCopies(t *testing.T) {
	const start = `.shared .align 16 .b8 s[1024]; mov.u64 %rd1, s; mad.wide.u32 %rd2, %tid, 4, %rd1;
		xor.b32 %r1, %tid, 1; mad.wide.u32 %rd3, %r1, 4, %rd1; st.global.u32 [%out], %tid; `
	const issue = "cp.async.ca.shared.global [%rd2], [%out], 4; cp.async.commit_group; "
	const unfinished = "asynchronous copy"
	for _, c := range []struct{ body, want string }{
		{issue + "cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r2, [%rd3]; st.global.u32 [%out], %r2;", ""},
		{issue + "cp.async.wait_all; ld.shared.u32 %r2, [%rd2]; st.global.u32 [%out], %r1;", ""},
		{issue + "ld.shared.u32 %r2, [%rd2];", unfinished},
		{issue + "cp.async.wait_group 1; ld.shared.u32 %r2, [%rd2];", unfinished},
		{issue + "bar.sync 0; ld.shared.u32 %r2, [%rd3];", unfinished},
		{issue + "st.shared.u32 [%rd2], 1;", unfinished},
		{issue + "ld.shared.u16 %r2, [%rd2];", unfinished},
		{issue + "cp.async.wait_all; ld.shared.u32 %r2, [%rd3];", "data race"},
		{
			"cp.async.ca.shared.global [%rd2], [%out], 4, 0; cp.async.wait_all; ld.shared.u32 %r2, [%rd2]; " +
				"add.u32 %r2, %r2, %r1; st.global.u32 [%out], %r2;", "",
		},
	} {
		out := make([]uint32, 32)
		text := strings.Replace(kernel("", start+c.body), "sm_75", "sm_80", 1)
		err := load(t, Config{Arch: 80}, []byte(text)).try("k", x1(1), x1(32), 0, out)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.body, err, c.want)
		}
		if c.want == "" && (out[0] != 1 || out[31] != 30) {
			t.Errorf("%s: %v", c.body, out)
		}
	}
}
