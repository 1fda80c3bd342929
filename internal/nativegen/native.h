// What the C of a kernel begins with: the types by the names that kernels' texts have, how an entry
// is called, and how it fails.
#pragma once
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef float f32;
typedef double f64;

// What an entry is given; nativeCall in backend/cpu has the same fields. Groups are numbered as
// backend.Grid.Group does.
typedef struct call {
  i64 lo, hi;              // the groups to run: lo <= group < hi
  i64 local[3], groups[3]; // the work-items of a group, the groups of the grid
  void *scratch;           // NAME_scratch[0] bytes, and NAME_scratch[1] for each strip of a group; 64-byte aligned
  i64 bad[4];              // what fail was told; bad[0] is 0 before
  void *saved[16];         // the caller's registers
  u64 *arg;                // a word for each argument: a buffer's address, a scalar's bits
} call;

// What went wrong, and its two numbers.
enum {
  FAIL_INDEX = 1,  // index a of b elements
  FAIL_DIVIDE = 2, // an integer divided by 0
  FAIL_SLICE = 3,  // upper bound a of a slice of b elements
  FAIL_SHIFT = 4,  // a shift by a negative number
  FAIL_ORDER = 5,  // lower bound a above the upper bound b
};

// KERNEL(name) { ... return 0; } is an entry; its body has the call as c. The entry keeps the
// caller's registers in the call, so that fail can leave from any depth, and checks cost nothing.
#define KERNEL(name) \
  static __attribute__((used, noinline)) i64 name##_body(call *c); \
  __attribute__((naked, visibility("default"))) i64 name(call *c) { __asm__(SAVE JUMP #name "_body"); } \
  static i64 name##_body(call *c)

#ifdef __x86_64__
#define JUMP "jmp "
#define SAVE \
  "movq %rbx, 104(%rdi)\n movq %rbp, 112(%rdi)\n movq %r12, 120(%rdi)\n movq %r13, 128(%rdi)\n" \
  "movq %r14, 136(%rdi)\n movq %r15, 144(%rdi)\n movq %rsp, 152(%rdi)\n"
__attribute__((naked, noinline, noreturn, cold)) static void leave(call *c) {
  __asm__("movq 104(%rdi), %rbx\n movq 112(%rdi), %rbp\n movq 120(%rdi), %r12\n movq 128(%rdi), %r13\n"
          "movq 136(%rdi), %r14\n movq 144(%rdi), %r15\n movq 152(%rdi), %rsp\n"
          "vzeroupper\n movl $1, %eax\n ret");
}
#else // arm64; whoever calls an entry keeps no vector registers
#define JUMP "b "
#define SAVE \
  "stp x19, x20, [x0, #104]\n stp x21, x22, [x0, #120]\n stp x23, x24, [x0, #136]\n stp x25, x26, [x0, #152]\n" \
  "stp x27, x28, [x0, #168]\n stp x29, x30, [x0, #184]\n mov x9, sp\n str x9, [x0, #200]\n"
__attribute__((naked, noinline, noreturn, cold)) static void leave(call *c) {
  __asm__("ldp x19, x20, [x0, #104]\n ldp x21, x22, [x0, #120]\n ldp x23, x24, [x0, #136]\n"
          "ldp x25, x26, [x0, #152]\n ldp x27, x28, [x0, #168]\n ldp x29, x30, [x0, #184]\n"
          "ldr x9, [x0, #200]\n mov sp, x9\n mov x0, #1\n ret");
}
#endif

// fail leaves the entry, whose launch then has an error. The place is a line of the kernel, and 1e6
// times the index of its file.
static __attribute__((noinline, noreturn, cold)) void fail(call *c, i64 kind, i64 place, i64 a, i64 b) {
  c->bad[0] = kind, c->bad[1] = place, c->bad[2] = a, c->bad[3] = b;
  leave(c);
}

// What clang may call; an object keeps those that it does.
#define MEMORY __attribute__((visibility("hidden"), noinline)) void *
MEMORY memset(void *to, int x, u64 n) {
  for (u64 i = 0; i < n; i++) ((u8 *)to)[i] = (u8)x;
  return to;
}
MEMORY memcpy(void *to, const void *from, u64 n) {
  for (u64 i = 0; i < n; i++) ((u8 *)to)[i] = ((const u8 *)from)[i];
  return to;
}
MEMORY memmove(void *to, const void *from, u64 n) {
  if ((u64)to <= (u64)from) return memcpy(to, from, n); // which goes upward
  while (n-- > 0) ((u8 *)to)[n] = ((const u8 *)from)[n];
  return to;
}
