/* Handles the file-scoped lexicals of a script that the script's named subs captured in the first
 * run. */
#include "script/script.h"
#include "interpreter/perl_internals.h"

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
  if (!outer || !mehari_is_plain_sub(inner) || !is_inside(inner, script->code))
    return;
  for (PADOFFSET slot = 1, last = mehari_last_lexical(inner); slot <= last; slot++) {
    PADOFFSET from = mehari_captured_from(inner, slot);
    if (!from)
      continue;
    Renew(script->rebinds, script->rebind_count + 1, mehari_rebind);
    script->rebinds[script->rebind_count++] = (mehari_rebind){inner, slot, outer, from};
  }
}

void mehari_script_find_captures(pTHX_ mehari_script *script)
{
  MEHARI_EACH_VALUE(each)
    if (SvTYPE(each) == SVt_PVCV && (CV *)each != script->code)
      remember_captures(aTHX_ script, (CV *)each);
}

/* Gives each named sub the lexicals of the next run, as the sub would have them in a fresh
 * process. */
void mehari_script_rebind(pTHX_ mehari_script *script)
{
  for (int i = 0; i < script->rebind_count; i++) {
    mehari_rebind *this = &script->rebinds[i];
    SV *current = *mehari_lexical(this->outer, this->outer_slot);
    SV **held = mehari_lexical(this->inner, this->inner_slot);
    if (*held == current)
      continue;
    SV *old = *held;
    *held = SvREFCNT_inc(current);
    SvREFCNT_dec(old);
  }
}
