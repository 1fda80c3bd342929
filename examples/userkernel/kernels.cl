/* saxpy - y = a*x + y for n elements, each rounded once.
 *
 * Launch: any one-dimensional grid covers any n; work-items stride over the elements.
 */
__kernel void saxpy(const int n, const float a, __global const float *x, __global float *y) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = fma(a, x[i], y[i]);
}

/* jacobi - one step of Jacobi's method for Laplace's equation: every inner point of a rows by cols
 * grid becomes the mean of its four neighbours.
 *
 *   out[i,j] = ((in[i-1,j] + in[i+1,j]) + (in[i,j-1] + in[i,j+1])) / 4
 *
 * The border of out stays as it is.
 *
 * Launch: a work-item for each point, columns in x, rows in y.
 */
__kernel void jacobi(const int rows, const int cols, __global const float *in, __global float *out) {
  int i = get_global_id(1), j = get_global_id(0);
  if (i < 1 || i >= rows - 1 || j < 1 || j >= cols - 1) return;
  int p = i * cols + j;
  out[p] = 0.25f * ((in[p - cols] + in[p + cols]) + (in[p - 1] + in[p + 1]));
}
