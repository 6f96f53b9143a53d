/* Loads what the zygote needs before it forks: preloaded modules and scripts, and the settings of
 * servers. Runs the last phases of start-up. Reports to the front what was loaded. */
#include "process/zygote.h"
#include "interpreter/interpreter.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "script/script.h"
#include <sys/prctl.h>

typedef struct {
  uint32_t manner;
  SV *text;
  bool failed;
} preloading;

static void preload(pTHX_ void *argument)
{
  preloading *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHu(this->manner);
  XPUSHs(this->text);
  PUTBACK;
  call_pv("Mehari::Zygote::preload", G_VOID | G_DISCARD | G_EVAL);
  this->failed = SvTRUE(ERRSV);
  prctl(PR_SET_NAME, "mehari-zygote"); /* a preloaded file may have changed the name by $0 */
  if (!this->failed)
    mehari_cgi_loaded(aTHX);
  FREETMPS;
  LEAVE;
}

void mehari_loading_preload(pTHX_ mehari_message *in)
{
  static uint32_t count;
  SV *whole = mehari_message_gather(aTHX_ in);
  if (!whole)
    return;
  count++;
  preloading this = {in->head.slot, whole, false};
  mehari_outcome outcome = mehari_guard(aTHX_ preload, &this, NULL);
  SvREFCNT_dec(whole);
  if (outcome == MEHARI_EXITED)
    mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_FAILED, count, 0, 0, 14}, "it called exit");
  else if (this.failed) {
    STRLEN length;
    const char *text = SvPV(ERRSV, length);
    mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_FAILED, count, 0, 0, length}, text);
  }
}

void mehari_loading_server(pTHX_ mehari_message *in)
{
  SV *whole = mehari_message_gather(aTHX_ in);
  if (!whole)
    return;
  mehari_server_set_settings(aTHX_ in->head.slot, (mehari_text){SvPVX(whole), SvCUR(whole)});
  SvREFCNT_dec(whole);
}

/* Takes the lines of the configuration, for Apache2::Directive. */
void mehari_loading_tree(pTHX_ mehari_message *in)
{
  SV *whole = mehari_message_gather(aTHX_ in);
  if (whole)
    (void)hv_stores(get_hv("Mehari::Server::fact", GV_ADD), "tree", whole);
}

/* Runs the handlers that may still refuse, after everything has loaded. */
static void run_last_phases(pTHX)
{
  static const int phases[] = {MEHARI_PHASE_OPEN_LOGS, MEHARI_PHASE_POST_CONFIG};
  for (size_t i = 0; i < C_ARRAY_LENGTH(phases); i++) {
    const char *refusal = mehari_run_server_phase(aTHX_ phases[i]);
    if (refusal)
      mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_FAILED, 0, 0, 0, strlen(refusal)}, refusal);
  }
}

/* Reports the handlers that start-up code pushed. The front merges them with the configured
 * handlers. A code reference is reported as its file and line. */
static void report_pushed(pTHX)
{
  for (uint32_t number = 0; number < mehari_server_count(); number++)
    for (int phase = 0; mehari_server(number) && phase < MEHARI_PHASE_CHILD_INIT; phase++) {
      const mehari_settings *server = mehari_server(number);
      if (!server->is_changed[phase])
        continue;
      SV *text = newSVpvn_flags(mehari_phases[phase].name, strlen(mehari_phases[phase].name), SVs_TEMP);
      for (SSize_t i = 0; i <= av_top_index(server->handlers[phase]); i++) {
        SV *handler = AvARRAY(server->handlers[phase])[i];
        sv_catpvn(text, "", 1);
        if (SvROK(handler))
          sv_catpvf(text, "&%u:%s:%d", (unsigned)number, mehari_phases[phase].name, (int)i);
        else
          sv_catsv(text, handler);
      }
      mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_PUSHED, number, 0, 0, SvCUR(text)}, SvPVX(text));
    }
}

/* Reports the loaded files, which `--watch` watches. */
static void report_loaded(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  PUTBACK;
  int count = call_pv("Mehari::Zygote::own_files", G_LIST | G_EVAL);
  SPAGAIN;
  for (int i = 0; i < count; i++) {
    STRLEN length;
    const char *path = SvPV(SP[-i], length);
    mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_LOADED, 0, 0, 0, length}, path);
  }
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

/* Reports what fork-lint finds. `PerlForkLint Refuse` makes each finding a failure. */
static void report_lint(pTHX_ void *argument)
{
  const mehari_own_files *own = argument;
  SV **word = hv_fetchs(get_hv("Mehari::Server::fact", GV_ADD), "fork_lint", 0);
  bool refuses = word && strEQ(SvPV_nolen(*word), "refuse");
  if (word && strEQ(SvPV_nolen(*word), "off"))
    return;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  for (int i = 0; i < own->count; i++)
    mXPUSHi(own->files[i]);
  PUTBACK;
  int count = call_pv("Mehari::ForkLint::look", G_LIST | G_EVAL);
  SPAGAIN;
  for (int i = count - 1; i >= 0; i--) {
    STRLEN length;
    SV *line = sv_2mortal(newSVpvs("before the first fork there is "));
    sv_catsv(line, SP[-i]);
    const char *text = SvPV(line, length);
    mehari_zygote_report(&(mehari_control){refuses ? MEHARI_CONTROL_FAILED : MEHARI_CONTROL_LINTED, 0, 0, 0, length}, text);
  }
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

void mehari_loading_finish(pTHX_ bool may_refuse)
{
  if (may_refuse)
    run_last_phases(aTHX);
  report_pushed(aTHX);
  mehari_guard(aTHX_ report_loaded, NULL, NULL);
}

void mehari_loading_lint(pTHX_ const mehari_own_files *own)
{
  mehari_guard(aTHX_ report_lint, (void *)own, NULL);
}
