/* bias_relu - the end of a linear layer, in place: y[i,j] = max(y[i,j] + bias[j], 0) for a packed
 * rows by cols matrix.
 *
 * NaN gives 0.
 *
 * Launch: any one-dimensional grid covers any shape; work-items stride over the elements.
 */
__kernel void bias_relu(const int rows, const int cols, __global const float *bias, __global float *y) {
  for (int i = get_global_id(0); i < rows * cols; i += get_global_size(0)) {
    float v = y[i] + bias[i % cols];
    y[i] = v > 0.0f ? v : 0.0f;
  }
}
