/* Molecular dynamics with domain decomposition, as in GROMACS. Particles in a periodic box repel
   each other if they are near. Each rank has a part of the box, and the particles in it.

   In each step a rank sends the positions of particles near its lower boundaries to its lower
   neighbours. Forces on these particles come back and are added. Which particles these are changes
   every few steps. Then particles also move to other ranks.

   No message is packed by hand. A datatype picks particles out of the arrays by an index list, and
   lives as long as the list.

   Positions, velocities and forces are multiples of powers of two. So all sums are exact, and the
   results do not depend on the number of ranks. `md_halo --help` lists the options.

       mpicc -O2 examples/c/md_halo.c -o md_halo -lm -ldl
       dunnage run --report -- mpirun -n 4 ./md_halo --box 16,16,16 */
#include <math.h>
#include <stdint.h>

#include "application.h"

enum { DIMS = 3 };
enum { LISTS, POSITIONS, FORCES }; /* tags of messages */
typedef float rvec[DIMS];

static const double CUTOFF = 1.5, STEP = 1.0 / 128;
static const double LIST_RANGE = 1.75; /* lists reach farther than the cut-off, as particles move while they last */

/* An array whose parts go into messages. The MPI gets `given`: device memory, or `host` itself. */
struct array {
  rvec *host, *given;
};

/* What goes to the lower neighbour in one dimension, and what comes from the upper one. */
struct halo {
  int dim, lower, upper;
  int sent, *index;    /* the particles that are sent */
  int first, received; /* where those that are received begin, and how many there are */
  MPI_Datatype chosen; /* the sent particles in an array of positions or forces */
};

struct part {
  MPI_Comm comm;
  int grid[DIMS], place[DIMS], box[DIMS];
  int particles, home, all; /* in the box; of this rank; of this rank and received */
  struct array x, f, back;  /* positions, forces, forces from another rank */
  rvec* v;
  int* id;
  int* zone; /* bit d: the particle came over the upper boundary in dimension d */
  struct halo halo[DIMS];
  int halos;
  int (*pair)[2], pairs, room;
  double path; /* the most that a particle has moved since the lists were made */
  double exchange_seconds;
};

struct result {
  double energy, kinetic, momentum[DIMS], particles; /* sums over all ranks, in one MPI_Allreduce */
  uint64_t checksum;
  int wrong;
};

static MPI_Datatype rvec_type;

static double on_grid(double value, int bits) { return ldexp(rint(ldexp(value, bits)), -bits); }

/* --- memory --- */

static struct array make_array(int length, int on_device) {
  struct array a;
  a.host = calloc(length, sizeof(rvec));
  a.given = on_device ? device_allocate(length * sizeof(rvec)) : a.host;
  return a;
}

static void free_array(struct array* a) {
  if (a->given != a->host) device_free(a->given);
  free(a->host);
}

/* A real program computes on the GPU. This one copies to the host and computes there, so that it
   needs no kernels. */
static void to_mpi(struct array* a, int first, int count) {
  if (a->given != a->host) device_upload(a->given + first, a->host + first, count * sizeof(rvec));
}

static void from_mpi(struct array* a, int first, int count) {
  if (a->given != a->host) device_download(a->host + first, a->given + first, count * sizeof(rvec));
}

/* --- which particles are where --- */

static int owner(const struct part* p, int dim, float x) { return (int)((double)x * p->grid[dim] / p->box[dim]); }

/* Some particles of the arrays x, v and id: one datatype with absolute addresses. */
static MPI_Datatype whole_particles(struct part* p, int count, const int* index) {
  const int one[3] = {1, 1, 1};
  MPI_Aint address[3];
  MPI_Datatype chosen[3], type;
  MPI_Type_create_indexed_block(count, 1, index, rvec_type, &chosen[0]);
  MPI_Type_create_indexed_block(count, 1, index, MPI_INT, &chosen[2]);
  chosen[1] = chosen[0];
  MPI_Get_address(p->x.host, &address[0]);
  MPI_Get_address(p->v, &address[1]);
  MPI_Get_address(p->id, &address[2]);
  MPI_Type_create_struct(3, one, address, chosen, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&chosen[0]);
  MPI_Type_free(&chosen[2]);
  return type;
}

/* Particles that have left this rank's part in one dimension go to the neighbours. */
static void migrate(struct part* p, int dim) {
  int neighbour[2], count[2] = {0, 0}, *index[2], *tail = malloc(sizeof(int) * p->particles), total = p->home;
  MPI_Cart_shift(p->comm, dim, 1, &neighbour[0], &neighbour[1]);
  for (int way = 0; way < 2; ++way) index[way] = malloc(sizeof(int) * p->particles);
  for (int i = 0; i < p->home; ++i) {
    const int ranks = p->grid[dim], far = (owner(p, dim, p->x.host[i][dim]) - p->place[dim] + ranks) % ranks;
    p->zone[i] = far ? -1 : 0;
    if (far == 1)
      index[1][count[1]++] = i;
    else if (far)
      index[0][count[0]++] = i;
    if (far > 1 && far != ranks - 1) {
      fprintf(stderr, "md_halo: particle %d is at %g in dimension %d: too far for a neighbour\n", p->id[i],
              p->x.host[i][dim], dim);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  for (int way = 0; way < 2; ++way) {
    int coming;
    MPI_Sendrecv(&count[way], 1, MPI_INT, neighbour[way], LISTS, &coming, 1, MPI_INT, neighbour[!way], LISTS, p->comm,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < coming; ++i) {
      tail[i] = total + i;
      p->zone[total + i] = 0;
    }
    MPI_Datatype leaving = whole_particles(p, count[way], index[way]), arriving = whole_particles(p, coming, tail);
    MPI_Sendrecv(MPI_BOTTOM, 1, leaving, neighbour[way], LISTS, MPI_BOTTOM, 1, arriving, neighbour[!way], LISTS,
                 p->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&leaving);
    MPI_Type_free(&arriving);
    total += coming;
    free(index[way]);
  }
  free(tail);
  p->home = 0;
  for (int i = 0; i < total; ++i) {
    if (p->zone[i] < 0) continue; /* it has left */
    memcpy(p->x.host[p->home], p->x.host[i], sizeof(rvec));
    memcpy(p->v[p->home], p->v[i], sizeof(rvec));
    p->id[p->home++] = p->id[i];
  }
}

/* Makes the index list of one dimension. Particles of earlier dimensions travel on, so that those
   beyond edges and corners arrive, too. */
static void make_halo(struct part* p, struct halo* h, int dim) {
  const double end = (double)p->box[dim] * p->place[dim] / p->grid[dim] + LIST_RANGE;
  MPI_Datatype ints;
  h->dim = dim;
  MPI_Cart_shift(p->comm, dim, 1, &h->lower, &h->upper);
  h->sent = 0;
  h->index = malloc(sizeof(int) * p->particles);
  for (int i = 0; i < p->all; ++i)
    if (p->x.host[i][dim] < end) h->index[h->sent++] = i;
  h->first = p->all;
  MPI_Sendrecv(&h->sent, 1, MPI_INT, h->lower, LISTS, &h->received, 1, MPI_INT, h->upper, LISTS, p->comm,
               MPI_STATUS_IGNORE);
  p->all += h->received;
  MPI_Type_create_indexed_block(h->sent, 1, h->index, rvec_type, &h->chosen);
  MPI_Type_commit(&h->chosen);
  MPI_Type_create_indexed_block(h->sent, 1, h->index, MPI_INT, &ints);
  MPI_Type_commit(&ints);
  MPI_Sendrecv(p->zone, 1, ints, h->lower, LISTS, p->zone + h->first, h->received, MPI_INT, h->upper, LISTS, p->comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(p->x.host, 1, h->chosen, h->lower, LISTS, p->x.host + h->first, h->received, rvec_type, h->upper, LISTS,
               p->comm, MPI_STATUS_IGNORE);
  MPI_Type_free(&ints);
  for (int i = h->first; i < p->all; ++i) p->zone[i] |= 1 << dim;
}

/* Writes the vector from particle j to particle i. Returns the square of its length. */
static double between(const struct part* p, int i, int j, double r[DIMS]) {
  double square = 0;
  for (int d = 0; d < DIMS; ++d) {
    r[d] = (double)p->x.host[i][d] - p->x.host[j][d];
    if (p->grid[d] == 1)
      r[d] -= p->box[d] * rint(r[d] / p->box[d]); /* the nearest image */
    else if (p->place[d] == p->grid[d] - 1)       /* beyond this rank's upper boundary the box begins again */
      r[d] += p->box[d] * ((p->zone[i] >> d & 1) - (p->zone[j] >> d & 1));
    square += r[d] * r[d];
  }
  return square;
}

static void free_lists(struct part* p) {
  for (struct halo* h = p->halo; h < p->halo + p->halos; ++h) {
    MPI_Type_free(&h->chosen);
    free(h->index);
  }
  p->halos = 0;
}

static void make_lists(struct part* p) {
  double r[DIMS];
  free_lists(p);
  for (int i = 0; i < p->home; ++i)
    for (int d = 0; d < DIMS; ++d) p->x.host[i][d] -= p->box[d] * floorf(p->x.host[i][d] / p->box[d]);
  for (int d = 0; d < DIMS; ++d)
    if (p->grid[d] > 1) migrate(p, d);
  p->all = p->home;
  memset(p->zone, 0, sizeof(int) * p->home);
  for (int d = 0; d < DIMS; ++d)
    if (p->grid[d] > 1) make_halo(p, &p->halo[p->halos++], d);
  p->pairs = 0;
  for (int i = 0; i < p->all; ++i)
    for (int j = i + 1; j < p->all; ++j) {
      /* Two particles that came over one boundary are a pair of another rank. */
      if ((p->zone[i] & p->zone[j]) || between(p, i, j, r) >= LIST_RANGE * LIST_RANGE) continue;
      if (p->pairs == p->room) p->pair = realloc(p->pair, sizeof *p->pair * (p->room = 2 * p->room + 1024));
      p->pair[p->pairs][0] = i;
      p->pair[p->pairs++][1] = j;
    }
  p->path = 0;
}

/* --- a step --- */

static void send_positions(struct part* p) {
  to_mpi(&p->x, 0, p->home);
  for (struct halo* h = p->halo; h < p->halo + p->halos; ++h)
    MPI_Sendrecv(p->x.given, 1, h->chosen, h->lower, POSITIONS, p->x.given + h->first, h->received, rvec_type, h->upper,
                 POSITIONS, p->comm, MPI_STATUS_IGNORE);
  from_mpi(&p->x, p->home, p->all - p->home);
}

/* The way back, in reverse order: forces on received particles go to the ranks that sent them. */
static void send_forces(struct part* p) {
  to_mpi(&p->f, 0, p->all);
  for (struct halo* h = p->halo + p->halos; h-- > p->halo;) {
    MPI_Request request[2];
    MPI_Irecv(p->back.given, 1, h->chosen, h->lower, FORCES, p->comm, &request[0]);
    MPI_Isend(p->f.given + h->first, h->received, rvec_type, h->upper, FORCES, p->comm, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    from_mpi(&p->back, 0, h->first);
    for (int k = 0; k < h->sent; ++k)
      for (int d = 0; d < DIMS; ++d) p->f.host[h->index[k]][d] += p->back.host[h->index[k]][d];
    to_mpi(&p->f, 0, h->first);
  }
}

/* Returns the energy of this rank's pairs. */
static double compute_forces(struct part* p) {
  double energy = 0, r[DIMS];
  memset(p->f.host, 0, sizeof(rvec) * p->all);
  for (int k = 0; k < p->pairs; ++k) {
    const int i = p->pair[k][0], j = p->pair[k][1];
    const double near = CUTOFF * CUTOFF - between(p, i, j, r);
    if (near <= 0) continue;
    energy += on_grid(near * near / 4, 20);
    for (int d = 0; d < DIMS; ++d) {
      const float force = on_grid(near * r[d], 10);
      p->f.host[i][d] += force;
      p->f.host[j][d] -= force;
    }
  }
  return energy;
}

/* Moves this rank's particles, and adds up what must be conserved. */
static void move(struct part* p, struct result* sum) {
  double fastest = 0;
  for (int i = 0; i < p->home; ++i) {
    double square = 0, speed = 0;
    for (int d = 0; d < DIMS; ++d) {
      const double before = p->v[i][d], v = before + STEP * p->f.host[i][d];
      p->v[i][d] = v;
      p->x.host[i][d] = on_grid(p->x.host[i][d] + STEP * v, 16);
      square += (before * before + v * v) / 4; /* the mean of two half steps */
      speed += v * v;
      sum->momentum[d] += v;
    }
    sum->kinetic += on_grid(square, 20);
    fastest = fmax(fastest, speed);
  }
  p->path += STEP * sqrt(fastest);
}

static void one_step(struct part* p, struct result* sum) {
  double now = MPI_Wtime();
  *sum = (struct result){.particles = p->home, .wrong = sum->wrong};
  send_positions(p);
  p->exchange_seconds += MPI_Wtime() - now;
  sum->energy = compute_forces(p);
  now = MPI_Wtime();
  send_forces(p);
  p->exchange_seconds += MPI_Wtime() - now;
  move(p, sum);
  MPI_Allreduce(MPI_IN_PLACE, &sum->energy, DIMS + 3, MPI_DOUBLE, MPI_SUM, p->comm);
}

/* --- the whole run --- */

static uint64_t random_bits(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* At least 0 and below 1. */
static double random_number(uint64_t seed) { return ldexp((double)(random_bits(seed) >> 44), -20); }

/* One particle for each unit of volume. A real program reads them from a file. */
static void make_particles(struct part* p) {
  for (int i = 0; i < p->particles; ++i) {
    const int cell[DIMS] = {i % p->box[0], i / p->box[0] % p->box[1], i / (p->box[0] * p->box[1])};
    int mine = 1;
    for (int d = 0; d < DIMS; ++d) {
      /* Two neighbours in the list have opposite velocities, so that the total momentum is 0. */
      const double aside = random_number(DIMS * i + d), speed = random_number(DIMS * (i / 2) + d + (1 << 30));
      const int sign = i % 2 ? -1 : i + 1 < p->particles ? 1 : 0;
      p->x.host[p->home][d] = on_grid(cell[d] + 0.4 + 0.2 * aside, 16);
      p->v[p->home][d] = sign * on_grid(speed - 0.5, 16);
      mine &= owner(p, d, p->x.host[p->home][d]) == p->place[d];
    }
    p->id[p->home] = i;
    p->home += mine;
  }
}

/* Returns how many values are wrong. */
static int check(int step, const struct result* now, const struct result* first, int particles) {
  int wrong = 0;
  for (int d = 0; d < DIMS; ++d)
    if (now->momentum[d] != 0 && ++wrong)
      fprintf(stderr, "md_halo: step %d: momentum %d is %.9g, not 0\n", step, d, now->momentum[d]);
  if (now->particles != particles && ++wrong)
    fprintf(stderr, "md_halo: step %d: there are %.0f particles, not %d\n", step, now->particles, particles);
  const double energy = now->energy + now->kinetic, before = first->energy + first->kinetic;
  if (!(fabs(energy - before) < 0.005 * before) && ++wrong)
    fprintf(stderr, "md_halo: step %d: the total energy is %.9g, not about %.9g\n", step, energy, before);
  return wrong;
}

static struct result simulate(MPI_Comm world, const int grid[DIMS], const int box[DIMS], int steps, int every,
                              int on_device, int talk) {
  const int periodic[DIMS] = {1, 1, 1};
  struct part p = {.particles = box[0] * box[1] * box[2]};
  struct result first = {0}, now = {0};
  int rank;
  memcpy(p.grid, grid, sizeof p.grid);
  memcpy(p.box, box, sizeof p.box);
  MPI_Cart_create(world, DIMS, p.grid, periodic, 0, &p.comm);
  MPI_Comm_rank(p.comm, &rank);
  MPI_Cart_coords(p.comm, rank, DIMS, p.place);
  p.x = make_array(p.particles + 1, on_device);
  p.f = make_array(p.particles + 1, on_device);
  p.back = make_array(p.particles + 1, on_device);
  p.v = calloc(p.particles + 1, sizeof(rvec));
  p.id = calloc(p.particles + 1, sizeof(int));
  p.zone = calloc(p.particles + 1, sizeof(int));
  make_particles(&p);
  talk = talk && rank == 0;
  for (int step = 0; step < steps; ++step) {
    if (step % every == 0) make_lists(&p);
    one_step(&p, &now);
    if (step == 0) first = now;
    if (talk) now.wrong += check(step, &now, &first, p.particles);
    if (talk && step % every == 0)
      printf("step %4d: pairs %.6f, kinetic %.6f, total %.6f\n", step, now.energy, now.kinetic,
             now.energy + now.kinetic);
    if (2 * p.path > LIST_RANGE - CUTOFF && (step + 1) % every) {
      fprintf(stderr,
              "md_halo: step %d: a particle may have moved %g since the lists were made: choose a smaller --every\n",
              step, p.path);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  for (int i = 0; i < p.home; ++i) {
    uint32_t bits[2 * DIMS];
    uint64_t mixed = p.id[i];
    memcpy(bits, p.x.host[i], sizeof(rvec));
    memcpy(bits + DIMS, p.v[i], sizeof(rvec));
    for (int k = 0; k < 2 * DIMS; ++k) mixed = random_bits(mixed + bits[k] + 1);
    now.checksum += mixed;
  }
  MPI_Allreduce(MPI_IN_PLACE, &now.checksum, 1, MPI_UINT64_T, MPI_SUM, p.comm);
  MPI_Allreduce(MPI_IN_PLACE, &p.exchange_seconds, 1, MPI_DOUBLE, MPI_MAX, p.comm);
  if (talk) printf("time of the exchanges: %.1f us a step\n", 1e6 * p.exchange_seconds / steps);
  free_lists(&p);
  free_array(&p.x);
  free_array(&p.f);
  free_array(&p.back);
  free(p.v);
  free(p.id);
  free(p.zone);
  free(p.pair);
  MPI_Comm_free(&p.comm);
  return now;
}

int main(int argc, char** argv) {
  int box[DIMS] = {12, 12, 12}, grid[DIMS] = {0, 0, 0}, steps = 50, every = 10, memory = 0, no_check = 0, ranks, rank;
  const struct option options[] = {
      {"--box", "edges of the box, which has one particle for each unit of volume", box, DIMS, 4, NULL},
      {"--grid", "ranks along each dimension; 0: the MPI chooses", grid, DIMS, 0, NULL},
      {"--steps", "time steps", &steps, 1, 1, NULL},
      {"--every", "steps after which index lists are made anew", &every, 1, 1, NULL},
      {"--memory", "memory of positions and forces", &memory, 1, 0, "host|device"},
      {"--check", "compare with a run of one rank", &no_check, 1, 0, "yes|no"},
  };
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  read_options("md_halo", argc, argv, options, sizeof options / sizeof *options);
  if (grid[0] * grid[1] * grid[2] == 0) MPI_Dims_create(ranks, DIMS, grid);
  if (grid[0] * grid[1] * grid[2] != ranks)
    end_with(2, "md_halo: a grid of %d,%d,%d is not for %d ranks\n", grid[0], grid[1], grid[2], ranks);
  for (int d = 0; d < DIMS; ++d)
    if (box[d] > 128) end_with(2, "md_halo: a box edge of %d is too long: at most 128\n", box[d]);
  for (int d = 0; d < DIMS; ++d)
    if (box[d] < LIST_RANGE * grid[d])
      end_with(2, "md_halo: a box edge of %d is too short for %d ranks: each needs %g\n", box[d], grid[d], LIST_RANGE);
  MPI_Type_contiguous(DIMS, MPI_FLOAT, &rvec_type);
  MPI_Type_commit(&rvec_type);

  /* As GROMACS does: if the MPI takes no device memory, messages go through host memory. */
  if (memory) open_device();
  const int on_device = memory && mpi_takes_device_memory();
  if (rank == 0)
    printf("md_halo: %d particles, messages in %s\n", box[0] * box[1] * box[2],
           on_device ? "device memory"
           : memory  ? "host memory, as this MPI takes no device memory"
                     : "host memory");
  struct result result = simulate(MPI_COMM_WORLD, grid, box, steps, every, on_device, 1);
  if (rank == 0) {
    const int alone[DIMS] = {1, 1, 1};
    printf("checksum %016llX\n", (unsigned long long)result.checksum);
    if (!no_check) {
      const struct result expected = simulate(MPI_COMM_SELF, alone, box, steps, every, 0, 0);
      if (result.checksum != expected.checksum && ++result.wrong)
        fprintf(stderr, "md_halo: the checksum of one rank is %016llX\n", (unsigned long long)expected.checksum);
    }
    printf("%s\n", result.wrong ? "WRONG" : no_check ? "not compared with one rank" : "right");
  }
  MPI_Bcast(&result.wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Type_free(&rvec_type);
  MPI_Finalize();
  return result.wrong != 0;
}
