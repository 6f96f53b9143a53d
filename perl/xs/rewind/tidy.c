/* Tidies memory before the picture, so that a request's allocations lie together on few pages. This
 * uses up the free places in malloc and in perl's arenas, so that new memory comes from the top of
 * the heap. */
#include "mehari.h"
#include "rewind/state.h"
#include "interpreter/perl_internals.h"
#include <malloc.h>

#define LARGEST ((size_t)512 << 10)

/* Uses up all free places of this size below `top`. */
static void use_up(size_t size, uintptr_t top)
{
  for (int count = 0; count < 1000000; count++) {
    void *place = malloc(size);
    if (!place || (uintptr_t)place >= top) {
      free(place);
      return;
    }
  }
}

void mehari_rewind_tidy(pTHX)
{
  /* Makes malloc use only the heap from now on, and keep freed memory there. */
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 20);
  void *above = malloc(1 << 20);
  uintptr_t top = (uintptr_t)above;
  free(above);
  for (size_t size = LARGEST; top && size >= 2048; size /= 2)
    use_up(size, top);
  for (size_t size = 2040; top && size >= 24; size -= 16)
    use_up(size, top);
  mehari_forget_free_values(aTHX);
}
