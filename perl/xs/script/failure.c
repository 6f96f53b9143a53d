/* Reports the errors of a script that does not compile. $SIG{__DIE__} and the log get the errors as
 * from a perl that runs the script. */
#include "script/compile.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "response/response.h"

/* $SIG{__DIE__} for a text that was read to its end and has errors; NULL: perl itself calls the
 * hook. */
static SV *hook_aside;

/* Finishes a text with errors. A perl that runs the script finds the errors of all its lines and
 * then dies, so $SIG{__DIE__} gets them with the line "Execution of ... aborted". For an eval's
 * text perl before 5.38 calls no hook, and a later perl calls the hook without that line. In all
 * versions mehari_failure_report calls the hook instead. */
void mehari_failure_end_of_text(pTHX)
{
  if (mehari_in_thread(aTHX) || hook_aside || !mehari_parser_has_errors(aTHX))
    return;
  hook_aside = PL_diehook;
  PL_diehook = NULL;
}

void mehari_failure_put_hook_back(pTHX)
{
  if (PL_diehook)
    SvREFCNT_dec(hook_aside);
  else
    PL_diehook = hook_aside;
  hook_aside = NULL;
}

/* Calls $SIG{__DIE__}. To perl and to CGI::Carp the error is not inside an eval. perl prints its
 * message and leaves as exit does. */
static void call_die_hook(pTHX_ void *message)
{
  dSP;
  SV *hook = PL_diehook;
  COP place = PL_compiling; /* the place of the call, for code that asks */
  CopFILE_set(&place, mehari_compilation_now.name);
  ENTER;
  SAVETMPS;
  SAVEVPTR(PL_curcop);
  PL_curcop = &place;
  SAVESPTR(PL_diehook);
  PL_diehook = NULL;
  PUSHMARK(SP);
  XPUSHs((SV *)message);
  PUTBACK;
  call_sv(hook, G_VOID | G_DISCARD);
  FREETMPS;
  LEAVE;
}

/* Whether perl itself has ended the compilation: in a BEGIN block, at a fatal error, or after
 * too many errors. */
static bool says_it_ended(const char *message)
{
  return strstr(message, "compilation aborted") || strstr(message, "aborted due to compilation errors") || strstr(message, "has too many errors");
}

/* Reports the errors of a compilation. A perl that runs the script calls $SIG{__DIE__} with the
 * errors at the end. In this process perl did not call the hook, or the hook was inside an eval and
 * printed nothing. Text that the hook prints is the response. */
void mehari_failure_report(pTHX_ const char *file, size_t printed_before)
{
  SV *message = sv_mortalcopy(ERRSV);
  if (!SvROK(message) && !says_it_ended(SvPV_nolen(message)))
    sv_catpvf(message, "Execution of %s aborted due to compilation errors.\n", file);
  mehari_exit_called = false;
  mehari_outcome outcome = MEHARI_RAN;
  if (PL_diehook && mehari_serving && mehari_output_bytes() == printed_before)
    outcome = mehari_guard(aTHX_ call_die_hook, message, NULL);
  if (outcome == MEHARI_RAN || mehari_exit_called) {
    sv_setsv(ERRSV, message);
    mehari_log_exception(aTHX_ file);
  }
}
