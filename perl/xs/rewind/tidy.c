/* Memory tidied before the picture: what a request allocates shall lie together, on few pages. The free places between
 * older things are used up, in malloc and in perl's arenas, so that what is new comes from the top of the heap.
 */
#include "mehari.h"
#include "rewind/state.h"
#include "interpreter/perl_internals.h"
#include <malloc.h>

#define LARGEST ((size_t)512 << 10)

/* Takes all free places of this size below `top`; the one above it is given back. */
static void use_up(size_t size, const char *top)
{
  for (int count = 0; count < 1000000; count++) {
    char *place = malloc(size);
    if (!place || place >= top) {
      free(place);
      return;
    }
  }
}

void mehari_rewind_tidy(pTHX)
{
  /* All that malloc gives from now on is of the heap, and what is freed stays there. */
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 20);
  char *top = malloc(1 << 20);
  free(top);
  for (size_t size = LARGEST; top && size >= 2048; size /= 2)
    use_up(size, top);
  for (size_t size = 2040; top && size >= 24; size -= 16)
    use_up(size, top);
  mehari_forget_free_values(aTHX);
}
