/* A machine with a stack, whose programs are bytes: a dense switch in a loop, and an array in private memory. */
__kernel void machine(const int n, __global const uchar *program, const int length, __global const int *in, __global int *out) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  int stack[8];
  int top = 0, steps = 0;
  stack[0] = in[i];
  for (int pc = 0; pc < length && steps < 1000; pc++, steps++) {
    switch (program[pc]) {
    case 0: top = (top + 1) & 7; stack[top] = stack[(top + 7) & 7]; break;
    case 1: top = (top + 7) & 7; stack[top] += stack[(top + 1) & 7]; break;
    case 2: top = (top + 7) & 7; stack[top] *= stack[(top + 1) & 7]; break;
    case 3: stack[top] = -stack[top]; break;
    case 4: stack[top] ^= stack[top] >> 3; break;
    case 5: top = (top + 1) & 7; stack[top] = program[++pc]; break;
    case 6: if (stack[top] & 1) pc++; break;
    case 7: if (stack[top] > 100000) pc = -1; stack[top] /= 3; break;
    case 8: stack[top] <<= 2; break;
    case 9: stack[top] += steps; break;
    default: pc = length; break;
    }
  }
  out[i] = stack[top] + 7 * steps;
}
