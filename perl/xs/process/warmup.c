/* The warm-up of the zygote (`ZygoteWarmup`): the zygote itself serves the front's requests from a
 * mailbox before it forks its first worker. All workers then share what the requests have loaded,
 * compiled and cached.
 *
 * No request may have run in a template. A process that is forked before the warm-up, the stem,
 * therefore forks the templates and explains scripts. */
#include "process/warmup.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

bool mehari_is_warming;
static pid_t stem_process;

static void forget_environment(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  mehari_environment_of_process(aTHX);
}

void mehari_warmup_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event)
{
  mehari_is_warming = true;
  mehari_descriptor_claim(mehari_control_socket); /* a script's child process must not keep it */
  mehari_process_open(aTHX_ "mehari-zygote", mailbox, descriptors, bell, bell_event);
  mehari_worker_prepare(aTHX);
  mehari_worker_serve(aTHX);
  mehari_is_warming = false;
  mehari_retire = mehari_replace = false;
  mehari_guard(aTHX_ forget_environment, NULL, NULL);
  PerlIO_flush((PerlIO *)NULL);
  mehari_mailbox_detach();
  mehari_descriptor_release(mehari_control_socket);
}

bool mehari_stem_fork(void)
{
  pid_t zygote = getpid();
  stem_process = mehari_fork_own();
  if (stem_process) {
    mehari_in_child = false;
    return false;
  }
  prctl(PR_SET_NAME, "mehari-stem");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != zygote)
    _exit(0);
  mehari_in_child = false;
  return true;
}

bool mehari_stem_exists(void) { return stem_process > 0; }

void mehari_stem_ask(const char *file, uint32_t question)
{
  int const any = mehari_stem_socket; /* the message always carries descriptors */
  mehari_stem_send((mehari_wanted){0, MEHARI_TO_EXPLAIN, question}, file, (int[]){any, any, any});
}

void mehari_stem_ended(pid_t process)
{
  /* The front starts another zygote. The workers go on. */
  if (process == stem_process)
    _exit(1);
}
