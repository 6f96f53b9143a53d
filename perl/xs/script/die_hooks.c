/* Keeps $SIG{__DIE__} and $SIG{__WARN__} as a script's compilation set them (`use CGI::Carp
 * qw(fatalsToBrowser)`). The script is compiled only once, but each run must find these handlers,
 * as a run in a new process would. */
#include "script/script.h"

bool mehari_is_same_handler(SV *now, SV *before)
{
  /* Reading an element of %SIG creates an undefined element, which means the default handler. */
  if (!now || !SvOK(now) || !before || !SvOK(before))
    return (now && SvOK(now)) == (before && SvOK(before));
  if (SvROK(now) || SvROK(before))
    return SvROK(now) && SvROK(before) && SvRV(now) == SvRV(before);
  return SvPOK(now) && SvPOK(before) && SvCUR(now) == SvCUR(before) && memEQ(SvPVX(now), SvPVX(before), SvCUR(now));
}

void mehari_hooks_read(pTHX_ mehari_hooks *hooks)
{
  hooks->die = PL_diehook ? newSVsv(PL_diehook) : NULL;
  hooks->warn = PL_warnhook && PL_warnhook != PERL_WARNHOOK_FATAL ? newSVsv(PL_warnhook) : NULL;
}

void mehari_hooks_free(pTHX_ mehari_hooks *hooks)
{
  SvREFCNT_dec(hooks->die);
  SvREFCNT_dec(hooks->warn);
  hooks->die = hooks->warn = NULL;
}

/* Drops a handler that the script has not changed, because it is not the script's. */
static void drop_same(pTHX_ SV **hook, SV *before)
{
  if (*hook && mehari_is_same_handler(*hook, before)) {
    SvREFCNT_dec(*hook);
    *hook = NULL;
  }
}

void mehari_hooks_keep_changed(pTHX_ mehari_hooks *hooks, mehari_hooks *before)
{
  mehari_hooks_read(aTHX_ hooks);
  drop_same(aTHX_ & hooks->die, before->die);
  drop_same(aTHX_ & hooks->warn, before->warn);
  mehari_hooks_free(aTHX_ before);
}

static void put(pTHX_ const char *name, SV *value)
{
  SV **slot = value ? hv_fetch(get_hv("SIG", GV_ADD), name, strlen(name), 1) : NULL;
  if (!slot)
    return;
  sv_setsv(*slot, value);
  SvSETMAGIC(*slot);
}

void mehari_hooks_restore(pTHX_ const mehari_hooks *hooks)
{
  put(aTHX_ "__DIE__", hooks->die);
  put(aTHX_ "__WARN__", hooks->warn);
}
