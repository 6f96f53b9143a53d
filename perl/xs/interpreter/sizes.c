/* Tells what code and values take, in bytes, for Mehari::Inspect: the figures of B::TerseSize. Only
 * perl's own structures count, not what malloc adds. Only twins call these subs. */
#include "interpreter/interpreter.h"

/* ---- values ---- */

static size_t body_of(const SV *sv)
{
  switch (SvTYPE(sv)) {
  case SVt_NV: return sizeof(NV);
  case SVt_PV: return sizeof(XPV);
  case SVt_PVIV: return sizeof(XPVIV);
  case SVt_PVNV: return sizeof(XPVNV);
  case SVt_PVMG: return sizeof(XPVMG);
  case SVt_PVLV: return sizeof(XPVLV);
  case SVt_PVAV: return sizeof(XPVAV);
  case SVt_PVHV: return sizeof(XPVHV);
  case SVt_PVCV: return sizeof(XPVCV);
  case SVt_PVFM: return sizeof(XPVFM);
  case SVt_PVGV: return sizeof(XPVGV);
  case SVt_PVIO: return sizeof(XPVIO);
  default: return 0;
  }
}

static size_t keys_of(HV *hash)
{
  size_t bytes = 0;
  HE **slots = HvARRAY(hash);
  for (STRLEN i = 0; slots && i <= HvMAX(hash); i++)
    for (HE *entry = slots[i]; entry; entry = HeNEXT(entry))
      bytes += sizeof(HE) + sizeof(HEK) + (HeKLEN(entry) > 0 ? HeKLEN(entry) : 0);
  return bytes + (slots ? (HvMAX(hash) + 1) * sizeof(HE *) : 0);
}

/* Returns the bytes of a value without those that it refers to. */
static size_t own_bytes(SV *sv)
{
  size_t bytes = sizeof(SV) + body_of(sv);
  svtype type = SvTYPE(sv);
  if (type == SVt_PVAV)
    return bytes + (AvALLOC((AV *)sv) ? (size_t)(AvMAX((AV *)sv) + 1) * sizeof(SV *) : 0);
  if (type == SVt_PVHV)
    return bytes + keys_of((HV *)sv);
  bool has_text = type >= SVt_PV && type <= SVt_PVLV && !isGV_with_GP(sv) && type != SVt_REGEXP && !SvROK(sv);
  return bytes + (has_text && SvLEN(sv) < ((STRLEN)1 << 40) ? SvLEN(sv) : 0);
}

/* Notes a value as seen. False: it was seen before. */
static bool is_new(pTHX_ HV *seen, const SV *sv)
{
  if (hv_exists(seen, (const char *)&sv, sizeof sv))
    return false;
  (void)hv_store(seen, (const char *)&sv, sizeof sv, newSV(0), 0);
  return true;
}

/* Whether a value belongs to what refers to it. Code, globs, files and packages do not. */
static bool belongs(SV *sv)
{
  svtype type = SvTYPE(sv);
  return type != SVt_PVCV && type != SVt_PVFM && type != SVt_PVIO && !isGV_with_GP(sv) && !(type == SVt_PVHV && HvNAME_HEK((HV *)sv) != NULL);
}

static void push(pTHX_ AV *waiting, SV *sv)
{
  if (sv && belongs(sv))
    av_push(waiting, newSVuv(PTR2UV(sv)));
}

/* Returns the bytes of a value and of all that it holds and that is not in `seen`. */
static size_t all_bytes(pTHX_ SV *root, HV *seen)
{
  size_t bytes = 0;
  AV *waiting = newAV();
  push(aTHX_ waiting, root);
  while (av_top_index(waiting) >= 0) {
    SV *place = av_pop(waiting), *sv = INT2PTR(SV *, SvUV(place));
    SvREFCNT_dec(place);
    if (SvIS_FREED(sv) || !is_new(aTHX_ seen, sv))
      continue;
    bytes += own_bytes(sv);
    if (SvTYPE(sv) == SVt_PVAV)
      for (SSize_t i = 0; AvARRAY((AV *)sv) && i <= AvFILLp((AV *)sv); i++)
        push(aTHX_ waiting, AvARRAY((AV *)sv)[i]);
    else if (SvTYPE(sv) == SVt_PVHV) {
      HE **slots = HvARRAY((HV *)sv);
      for (STRLEN i = 0; slots && i <= HvMAX((HV *)sv); i++)
        for (HE *entry = slots[i]; entry; entry = HeNEXT(entry))
          push(aTHX_ waiting, HeVAL(entry));
    } else if (SvROK(sv) && !SvWEAKREF(sv))
      push(aTHX_ waiting, SvRV(sv));
  }
  SvREFCNT_dec((SV *)waiting);
  return bytes;
}

/* _bytes(REFERENCE, \%seen): what the referent holds. */
XS_INTERNAL(bytes)
{
  dXSARGS;
  if (items != 2 || !SvROK(ST(0)) || !SvROK(ST(1)) || SvTYPE(SvRV(ST(1))) != SVt_PVHV)
    croak("usage: _bytes(reference, \\%%seen)");
  size_t sum = all_bytes(aTHX_ SvRV(ST(0)), (HV *)SvRV(ST(1)));
  ST(0) = sv_2mortal(newSVuv(sum));
  XSRETURN(1);
}

/* ---- code ---- */

static size_t op_bytes(pTHX_ const OP *op)
{
  switch (op_class(op)) {
  case OPclass_UNOP: return sizeof(UNOP);
  case OPclass_BINOP: return sizeof(BINOP);
  case OPclass_LOGOP: return sizeof(LOGOP);
  case OPclass_LISTOP: return sizeof(LISTOP);
  case OPclass_PMOP: return sizeof(PMOP);
  case OPclass_SVOP: return sizeof(SVOP);
  case OPclass_PADOP: return sizeof(PADOP);
  case OPclass_PVOP: return sizeof(PVOP);
  case OPclass_LOOP: return sizeof(LOOP);
  case OPclass_COP: return sizeof(COP);
  case OPclass_METHOP: return sizeof(METHOP);
  case OPclass_UNOP_AUX: return sizeof(UNOP_AUX);
  default: return sizeof(OP);
  }
}

typedef struct {
  const COP *statement;
  UV count;
  size_t bytes;
  AV *lines; /* file, line, ops, bytes of each statement */
} tally;

static void conclude(pTHX_ tally *sum)
{
  if (sum->count) {
    const char *file = sum->statement ? CopFILE(sum->statement) : NULL;
    av_push(sum->lines, newSVpv(file ? file : "", 0));
    av_push(sum->lines, newSVuv(sum->statement ? CopLINE(sum->statement) : 0));
    av_push(sum->lines, newSVuv(sum->count));
    av_push(sum->lines, newSVuv(sum->bytes));
  }
  sum->count = sum->bytes = 0;
}

static void walk(pTHX_ const OP *op, tally *sum)
{
  for (; op; op = OpSIBLING(op)) {
    if (op->op_type == OP_NEXTSTATE || op->op_type == OP_DBSTATE) {
      conclude(aTHX_ sum);
      sum->statement = (const COP *)op;
    }
    sum->count++;
    sum->bytes += op_bytes(aTHX_ op);
    if (op->op_flags & OPf_KIDS)
      walk(aTHX_ cUNOPx(op)->op_first, sum);
    if (op->op_type == OP_SUBST && cPMOPx(op)->op_pmreplrootu.op_pmreplroot)
      walk(aTHX_ cPMOPx(op)->op_pmreplrootu.op_pmreplroot, sum);
  }
}

static CV *code_of(pTHX_ SV *reference)
{
  if (!SvROK(reference) || SvTYPE(SvRV(reference)) != SVt_PVCV)
    croak("expected a reference to code");
  return (CV *)SvRV(reference);
}

/* _ops(CODE): file, line, number of ops and bytes of each statement. */
XS_INTERNAL(ops)
{
  dXSARGS;
  CV *code = items == 1 ? code_of(aTHX_ ST(0)) : NULL;
  tally sum = {.lines = (AV *)sv_2mortal((SV *)newAV())};
  if (code && !CvISXSUB(code) && CvROOT(code)) {
    walk(aTHX_ CvROOT(code), &sum);
    conclude(aTHX_ &sum);
  }
  SP -= items;
  for (SSize_t i = 0; i <= av_top_index(sum.lines); i++)
    XPUSHs(AvARRAY(sum.lines)[i]);
  PUTBACK;
}

/* _pad(CODE, \%seen): what the sub itself takes without its ops: its variables, constants and
 * names. */
XS_INTERNAL(pad)
{
  dXSARGS;
  CV *code = items == 2 ? code_of(aTHX_ ST(0)) : NULL;
  if (!code || !SvROK(ST(1)) || SvTYPE(SvRV(ST(1))) != SVt_PVHV)
    croak("usage: _pad(code, \\%%seen)");
  HV *seen = (HV *)SvRV(ST(1));
  size_t sum = sizeof(SV) + sizeof(XPVCV);
  PADLIST *all = CvISXSUB(code) ? NULL : CvPADLIST(code);
  for (SSize_t depth = 1; all && depth <= PadlistMAX(all); depth++) {
    PAD *values = PadlistARRAY(all)[depth];
    if (!values || !is_new(aTHX_ seen, (SV *)values))
      continue;
    sum += own_bytes((SV *)values);
    for (SSize_t i = 1; i <= AvFILLp(values); i++) {
      SV *value = AvARRAY(values)[i];
      if (value && value != &PL_sv_undef && belongs(value) && is_new(aTHX_ seen, value))
        sum += own_bytes(value);
    }
  }
  PADNAMELIST *names = all ? PadlistNAMES(all) : NULL;
  for (SSize_t i = 0; names && i <= PadnamelistMAX(names); i++) {
    PADNAME *name = PadnamelistARRAY(names)[i];
    sum += sizeof(PADNAME *) + (name && PadnamePV(name) ? sizeof(PADNAME) + PadnameLEN(name) : 0);
  }
  ST(0) = sv_2mortal(newSVuv(sum));
  XSRETURN(1);
}

void mehari_sizes_boot(pTHX)
{
  newXS("Mehari::Inspect::_bytes", bytes, __FILE__);
  newXS("Mehari::Inspect::_ops", ops, __FILE__);
  newXS("Mehari::Inspect::_pad", pad, __FILE__);
}
