/* Pipes to processes (`open P, "| command"`) that a script leaves open. perl closes such pipes when
 * it exits, and the last output of their processes belongs to the response. A worker does not exit,
 * so it closes the pipes after the request.
 *
 * Under mod_perl a script may keep a pipe for its next requests. Such a pipe is flushed, and its
 * process is not awaited. */
#include "stdio/standard.h"
#include "response/response.h"
#include "interpreter/perl_internals.h"
#include <fcntl.h>
#include <unistd.h>

#define KEPT 64
static pid_t kept[KEPT]; /* processes whose pipes outlived their request */
static int kept_count;

static bool is_kept(pid_t process)
{
  for (int i = 0; i < kept_count; i++)
    if (kept[i] == process)
      return true;
  return false;
}

static void keep(pid_t process)
{
  pid_t *place = MEHARI_NEXT(kept, kept_count);
  if (place)
    *place = process;
  mehari_output_detach();
}

/* Ends a pipe. The descriptor stays with the handle. Closing the handle waits for the process,
 * as usual. */
static void end(int file)
{
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0)
    return;
  dup3(nowhere, file, O_CLOEXEC);
  close(nowhere);
}

void mehari_pipes_conclude(pTHX_ bool may_keep)
{
  bool flushed = false;
  for (int file = 3; file <= mehari_last_pipe(aTHX); file++) {
    pid_t process = mehari_process_of_pipe(aTHX_ file);
    if (process <= 0 || is_kept(process) || (fcntl(file, F_GETFL) & O_ACCMODE) != O_WRONLY)
      continue;
    if (!flushed) {
      /* The script's printed output comes before the output of processes at its pipes. */
      mehari_stdout_flush(aTHX);
      if (mehari_tap_is_open())
        mehari_output_spill();
      PerlIO_flush((PerlIO *)NULL);
      flushed = true;
    }
    if (may_keep)
      keep(process);
    else
      end(file);
  }
}
