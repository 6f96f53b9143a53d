/* Tidies memory before a script is compiled and before the picture, so that what a request writes
 * lies together on few pages: the script's code, its variables, and the request's allocations. This
 * uses up the free places in malloc and in perl's arenas, so that new memory comes from the top of
 * the heap. */
#include "mehari.h"
#include "rewind/rewind.h"
#include "environment/environment.h"
#include "interpreter/perl_internals.h"
#include "response/response.h"
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* Begins a page for the variables that each request writes (bounds.h). */
__attribute__((section(".bss.written.0"), aligned(4096), used)) static char begin_of_written[16];

#define LARGEST ((size_t)512 << 10)

typedef struct {
  uintptr_t start, top;
} heap;

/* Returns the start of the kernel's heap, which malloc of glibc enlarges. 0: there is no heap. */
static uintptr_t heap_start(void)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  char text[512];
  unsigned long from, start = 0;
  while (maps && !start && fgets(text, sizeof text, maps))
    if (strstr(text, "[heap]") && sscanf(text, "%lx-", &from) == 1)
      start = from;
  if (maps)
    fclose(maps);
  return start;
}

/* Uses up all free places of this size in the heap. */
static void use_up(size_t size, heap all)
{
  for (int count = 0; count < 1000000; count++) {
    void *place = malloc(size);
    if ((uintptr_t)place < all.start || (uintptr_t)place >= all.top) {
      free(place);
      return;
    }
  }
}

static uintptr_t lowest; /* new places lie above; 0: anywhere */

/* Makes the next new place begin a page, if malloc takes new memory from the top of the heap. */
static void begin_page(void)
{
  const uintptr_t page = 4096, header = 8, least = 32;
  uintptr_t next = (uintptr_t)mehari_new_place(2 * page) + 2 * page, rest = -next & (page - 1);
  lowest = next;
  if (rest >= least)
    (void)!malloc(rest - header);
}

void *mehari_new_place(size_t size)
{
  void *place = safemalloc(size);
  while ((uintptr_t)place < lowest)
    place = safemalloc(size);
  return place;
}

/* Makes perl allocate the arenas of the usual values. Otherwise each request would allocate them
 * and link their places. */
static void have_free_values(pTHX)
{
  static const svtype usual[] = {SVt_PV, SVt_PVIV, SVt_PVNV, SVt_PVMG, SVt_PVAV};
  SV *values[C_ARRAY_LENGTH(usual)];
  for (size_t i = 0; i < C_ARRAY_LENGTH(usual); i++)
    values[i] = newSV_type(usual[i]);
  HV *hash = newHV();
  (void)hv_stores(hash, "PATH", newSV(0));
  SvREFCNT_dec_NN((SV *)hash);
  for (size_t i = 0; i < C_ARRAY_LENGTH(usual); i++)
    SvREFCNT_dec_NN(values[i]);
}

void mehari_rewind_tidy(pTHX_ bool with_request)
{
  /* Makes malloc use only the heap from now on, and keep freed memory there. */
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 20);
  uintptr_t start = heap_start();
  void *above = malloc(1 << 20);
  heap all = {start, (uintptr_t)above};
  free(above);
  /* Another malloc (jemalloc, a sanitizer's) has its places elsewhere, and they never end. */
  bool is_malloc_of_glibc = start && all.top >= start && all.top < (uintptr_t)sbrk(0);
  for (size_t size = LARGEST; is_malloc_of_glibc && size >= 2048; size /= 2)
    use_up(size, all);
  for (size_t size = 2040; is_malloc_of_glibc && size >= 24; size -= 16)
    use_up(size, all);
  mehari_forget_free_values(aTHX);
  have_free_values(aTHX);
  if (is_malloc_of_glibc)
    begin_page();
  if (with_request)
    mehari_environment_move(aTHX);
  if (is_malloc_of_glibc)
    mehari_move_stacks(aTHX);
  if (with_request)
    mehari_output_move();
}
