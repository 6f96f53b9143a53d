/* Runs Perl code under a jump level of its own. The script cannot catch `exit`, `exit` cannot end
 * the worker, and the server reports an error that no `eval` caught. Code that runs within other
 * code, such as a script within a sub-request, leaves the other code as it was. */
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "response/response.h"
#include "script/script.h"
#include <unistd.h>

MEHARI_WRITTEN volatile bool mehari_running_perl;

mehari_outcome mehari_guard(pTHX_ mehari_body body, void *argument, int *exit_status)
{
  MEHARI_JUMP_LEVEL;
  int jumped;
  volatile mehari_outcome outcome = MEHARI_RAN;
  bool outermost = !mehari_running_perl;
  mehari_around around = {0};
  if (!outermost)
    around = mehari_put_aside(aTHX);
  mehari_depth depth = mehari_depth_now(aTHX);
  mehari_running_perl = true;
  MEHARI_JUMP_ENTER(jumped);
  switch (jumped) {
  case MEHARI_JUMPED_NOT:
    body(aTHX_ argument);
    break;
  case MEHARI_JUMPED_BY_DIE: /* an `eval` in the code that this level runs has caught the `die` */
    if (mehari_resume_after_eval(aTHX)) {
      CALLRUNOPS(aTHX);
      break;
    }
    /* fall through */
  default: /* MEHARI_JUMPED_BY_EXIT */
    mehari_unwind(aTHX_ depth);
    outcome = MEHARI_EXITED;
    if (exit_status)
      *exit_status = STATUS_EXIT;
  }
  MEHARI_JUMP_LEAVE;
  if (outermost)
    mehari_running_perl = false;
  else
    mehari_take_back(aTHX_ &around);
  return outcome;
}

typedef struct {
  SV *code;
  bool died;
} call;

static void call_in_void(pTHX_ void *argument)
{
  call *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  PUTBACK;
  call_sv(this->code, G_VOID | G_DISCARD | G_EVAL);
  this->died = SvTRUE(ERRSV);
  FREETMPS;
  LEAVE;
}

mehari_outcome mehari_call_list(pTHX_ AV *subs)
{
  mehari_outcome worst = MEHARI_RAN;
  if (!subs)
    return worst;
  /* Runs END blocks in the order in which they were written, as under mod_perl. Perl puts new
   * blocks at the front of the list. */
  for (SSize_t i = av_top_index(subs); i >= 0; i--) {
    call this = {AvARRAY(subs)[i], false};
    mehari_outcome outcome = mehari_guard(aTHX_ call_in_void, &this, NULL);
    if (this.died)
      mehari_log_exception(aTHX_ "END");
    if (outcome != MEHARI_RAN)
      worst = outcome;
  }
  return worst;
}

void mehari_log_exception(pTHX_ const char *where)
{
  STRLEN length;
  const char *text = SvPV(ERRSV, length), *end = text + length;
  PERL_UNUSED_ARG(where);
  while (text < end) {
    const char *feed = memchr(text, '\n', end - text), *stop = feed ? feed : end;
    if (stop > text)
      mehari_log(MEHARI_LOG_ERROR, text, stop - text);
    text = stop + 1;
  }
}

/* Ends the child of a script that forked. The child has returned to the server's code. It must end
 * as a program does and not become a second worker. */
void mehari_child_leave(pTHX_ int status)
{
  if (mehari_is_program)
    mehari_end_program(aTHX);
  else if (PL_endav) {
    AV *ends = PL_endav;
    PL_endav = NULL;
    mehari_call_list(aTHX_ ends);
  }
  mehari_output_spill();
  PerlIO_flush((PerlIO *)NULL);
  _exit(status);
}

bool mehari_ask_perl(pTHX_ const char *sub, SV *argument)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  if (argument)
    XPUSHs(argument);
  PUTBACK;
  int count = call_pv(sub, G_SCALAR | G_EVAL);
  SPAGAIN;
  bool so = count == 1 && SvTRUE(TOPs);
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
  return so;
}
