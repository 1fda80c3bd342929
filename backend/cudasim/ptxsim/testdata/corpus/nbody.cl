/* Accelerations of n bodies under gravity, by tiles in local memory. */
__kernel WG_SIZE(64, 1, 1)
void nbody(const int n, __global const float4 *bodies, __global float4 *acc) {
  LOCALMEM ALIGN16 float4 tile[64];
  const int i = (int)get_global_id(0), l = (int)get_local_id(0);
  float4 p = make_float4(0, 0, 0, 0);
  if (i < n) p = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += 64) {
    tile[l] = t + l < n ? bodies[t + l] : make_float4(0, 0, 0, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 64; j++) {
      const float dx = tile[j].x - p.x, dy = tile[j].y - p.y, dz = tile[j].z - p.z;
      const float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      const float f = tile[j].w / (r2 * sqrtf(r2));
      ax += dx * f;
      ay += dy * f;
      az += dz * f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) acc[i] = make_float4(ax, ay, az, p.w);
}
