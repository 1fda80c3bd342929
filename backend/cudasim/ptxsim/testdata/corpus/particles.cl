/* Structures: particles that move and bounce. */
typedef struct {
  float x, y;
  double vx, vy;
  int bounces;
  uchar alive;
} particle;

typedef struct {
  float left, right;
  double dt;
} world;

__kernel void particles(const int n, __global particle *p, const world w) {
  const int i = (int)get_global_id(0);
  if (i >= n || !p[i].alive) return;
  particle q = p[i];
  q.x += (float)(q.vx * w.dt);
  q.y += (float)(q.vy * w.dt);
  if (q.x < w.left || q.x > w.right) {
    q.vx = -q.vx;
    q.bounces++;
  }
  if (q.bounces > 2) q.alive = 0;
  p[i] = q;
}
