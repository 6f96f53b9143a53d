/* Perl's three standard handles: the common part (standard.c), each handle, and the pipes. */
#ifndef MEHARI_STANDARD_H
#define MEHARI_STANDARD_H

#include "mehari.h"

/* standard.c: Mehari's layer on the handle, the descriptor below the layer, and the restoration of
 * both after a request. */
typedef struct {
  const char *name;
  int descriptor;
  PerlIO_funcs *layer;
  PerlIO *handle; /* perl's own handle with our layer on it; NULL: a script has closed it */
  GV *gv;
  GP *gp;
  IO *io;
  bool replaced; /* whether the descriptor was replaced */
} mehari_standard;

void mehari_standard_open(pTHX_ mehari_standard *this); /* called once per worker */
void mehari_standard_attach(pTHX_ mehari_standard *this);
/* Restores glob, handle and layers; not the descriptor. */
void mehari_standard_restore(pTHX_ mehari_standard *this);
/* Called after `open` on this IO. */
void mehari_standard_reopened(pTHX_ mehari_standard *this, IO *io);
/* Whether the script has replaced the handle of that name by its own. */
bool mehari_standard_is_elsewhere(pTHX_ const mehari_standard *this);

/* For the tables of the layers. */
IV mehari_standard_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table);
IV mehari_standard_popped(pTHX_ PerlIO *handle);
IV mehari_standard_fileno(pTHX_ PerlIO *handle);
IV mehari_standard_close(pTHX_ PerlIO *handle);
PerlIO *mehari_standard_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags);

/* stdout.c: the layer that fills the response, and descriptor 1. */
void mehari_output_reopened(pTHX_ IO *io);
bool mehari_is_output(PerlIO *handle);
void mehari_stdout_restore_descriptor(void);
void mehari_stdout_replaced(void); /* notes that descriptor 1 was replaced */
void mehari_stdout_share(pTHX); /* called before other processes write to descriptor 1 */
/* Whether anything but the layer has written to descriptor 1. */
bool mehari_stdout_was_written(void);
bool mehari_stdout_empty(void);
void mehari_stdout_begin(pTHX);
void mehari_stdout_flush(pTHX);
bool mehari_stdout_has_more(void); /* children or C code wrote to descriptor 1 */
ssize_t mehari_stdout_take(char *window, size_t size);

PerlIO_funcs *mehari_output_layer(void);

/* stdin.c: STDIN. */
void mehari_input_open(pTHX);
void mehari_input_begin(pTHX);
void mehari_input_end(pTHX);
void mehari_input_spill(void);
void mehari_input_replaced(void);
void mehari_input_reopened(pTHX_ IO *io);
void mehari_input_is_a_pipe(pTHX); /* called in the child of `open F, "|-"` */
STRLEN mehari_input_read(char *into, STRLEN length); /* for $r->read */
STRLEN mehari_input_rest(void); /* the length of the unread part */
void mehari_input_restart(void); /* the request has another body */
/* Returns the target of a seek within `length` bytes. -1: invalid. */
static inline Off_t mehari_seek_position(Off_t offset, int whence, Off_t position, Off_t length)
{
  Off_t target;
  if (__builtin_add_overflow(offset, whence == SEEK_SET ? 0 : whence == SEEK_CUR ? position : length, &target))
    return -1;
  return target < 0 || target > length ? -1 : target;
}
extern PerlIO_funcs mehari_input_layer;

/* stderr.c: STDERR. */
void mehari_errors_open(pTHX);
void mehari_errors_take_own_file(void); /* of descriptor 2; called once per process */
void mehari_errors_begin(pTHX);
void mehari_errors_end(pTHX);
bool mehari_errors_are_quiet(void);
/* Logs the name of the script that died, unless the script's last message has the name. */
void mehari_errors_name_script(const char *file);
mehari_text mehari_errors_last(void); /* the last line of this request */
void mehari_errors_replaced(void);
void mehari_errors_reopened(pTHX_ IO *io);
void mehari_errors_quiet(bool quiet); /* during a trial: nothing is logged */

/* tap.c: descriptor 1 as a pipe to the front. */
bool mehari_tap_open(void); /* false: no pipe is available */
bool mehari_tap_is_open(void);
void mehari_tap_write(const char *bytes, size_t length);
bool mehari_tap_has_failed(void); /* whether nobody reads what was written last */
void mehari_tap_end_writer(void);
int mehari_tap_await(pid_t process);
void mehari_tap_close(pTHX);

/* pipes.c: pipes to processes that a script left open. */
void mehari_pipes_conclude(pTHX_ bool may_keep);

#endif
