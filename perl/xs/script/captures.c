/* File-scoped lexicals of a script that its named subs captured at the first run. */
#include "script/script.h"

static bool is_inside(CV *inner, CV *outer)
{
  CV *at = CvOUTSIDE(inner);
  for (int depth = 0; at && depth < 8; depth++, at = CvOUTSIDE(at))
    if (at == outer)
      return true;
  return false;
}

static void remember_captures(pTHX_ mehari_script *script, CV *inner)
{
  CV *outer = CvOUTSIDE(inner);
  if (CvISXSUB(inner) || !CvPADLIST(inner) || !outer || CvCLONE(inner) || CvCLONED(inner) || !is_inside(inner, script->code))
    return;
  PADNAMELIST *names = PadlistNAMES(CvPADLIST(inner));
  for (PADOFFSET slot = 1; slot <= (PADOFFSET)PadnamelistMAX(names); slot++) {
    PADNAME *name = PadnamelistARRAY(names)[slot];
    if (!name || PadnameLEN(name) < 2 || !PadnameOUTER(name) || PadnameIsOUR(name) || PadnameIsSTATE(name) || PadnamePV(name)[0] == '&')
      continue;
    Renew(script->rebinds, script->rebind_count + 1, mehari_rebind);
    script->rebinds[script->rebind_count++] = (mehari_rebind){inner, slot, outer, PARENT_PAD_INDEX(name)};
  }
}

void mehari_script_find_captures(pTHX_ mehari_script *script)
{
  for (SV *arena = PL_sv_arenaroot; arena; arena = (SV *)SvANY(arena)) {
    SV *end = &arena[SvREFCNT(arena)];
    for (SV *each = arena + 1; each < end; each++)
      if (SvTYPE(each) == SVt_PVCV && SvREFCNT(each) && (CV *)each != script->code)
        remember_captures(aTHX_ script, (CV *)each);
  }
}

/* Gives each named sub the variables of the run about to start, as a fresh process would. */
void mehari_script_rebind(pTHX_ mehari_script *script)
{
  for (int i = 0; i < script->rebind_count; i++) {
    mehari_rebind *this = &script->rebinds[i];
    SV *current = PadARRAY(PadlistARRAY(CvPADLIST(this->outer))[1])[this->outer_slot];
    SV **held = &PadARRAY(PadlistARRAY(CvPADLIST(this->inner))[1])[this->inner_slot];
    if (*held == current)
      continue;
    SV *old = *held;
    *held = SvREFCNT_inc(current);
    SvREFCNT_dec(old);
  }
}
