/* A table of the places where perl keeps what a sampling profiler reads: the running statement, the
 * call stack, names. `mehari profile` reads the table `mehari_perl_layout` from a process that has
 * loaded Mehari's XS module. For any other perl, `mehari profile` compiles this file alone against
 * that perl's headers and reads the object file. This file therefore includes no file of Mehari,
 * needs no linking and holds no pointers. */
#define PERL_NO_GET_CONTEXT
#include <EXTERN.h>
#include <perl.h>

#define TEXT_SIZE 40

typedef struct {
  char name[TEXT_SIZE];
  unsigned long long value;
} layout_entry;

#define AT(name, type, member) {name, offsetof(type, member)}
#ifdef MULTIPLICITY
#define IS_MULTIPLICITY 1
#define VARIABLE(name) AT("interpreter." #name, struct interpreter, I##name)
#else
#define IS_MULTIPLICITY 0
#define VARIABLE(name) {"interpreter." #name, 0} /* variables of the process: PL_op, ... */
#endif
#ifdef USE_ITHREADS
#define COP_FILE AT("cop.file", COP, cop_file)
#define HAS_THREADS 1
#else
#define COP_FILE AT("cop.file", COP, cop_filegv) /* the glob `_<FILE` */
#define HAS_THREADS 0
#endif
/* Since perl 5.36 the names of a package stand in the body of the package's hash. Before 5.36 they
 * stand at the end of the hash's array. */
#if PERL_VERSION >= 36
#define AUX_IN_BODY offsetof(struct xpvhv_with_aux, xhv_aux)
#else
#define AUX_IN_BODY 0
#endif
#ifdef SVphv_HasAUX
#define HAS_AUX SVphv_HasAUX
#else
#define HAS_AUX SVf_OOK
#endif

extern const layout_entry mehari_perl_layout[];
extern const OP mehari_perl_op;

const layout_entry mehari_perl_layout[] = {
  {"version", PERL_REVISION * 1000000 + PERL_VERSION * 1000 + PERL_SUBVERSION},
  {"pointer", sizeof(void *)},
  {"multiplicity", IS_MULTIPLICITY},
  {"threads", HAS_THREADS},
  VARIABLE(op),
  VARIABLE(curcop),
  VARIABLE(curstackinfo),
  VARIABLE(stack_sp),
  VARIABLE(cop_seqmax),
  VARIABLE(sv_arenaroot),
  VARIABLE(defstash),
  VARIABLE(main_cv),
  VARIABLE(strtab),
  {"si.size", sizeof(PERL_SI)},
  AT("si.contexts", PERL_SI, si_cxstack),
  AT("si.previous", PERL_SI, si_prev),
  AT("si.top", PERL_SI, si_cxix),
  AT("si.maximum", PERL_SI, si_cxmax),
  AT("si.type", PERL_SI, si_type),
  {"si.sort", PERLSI_SORT},
  {"context.size", sizeof(PERL_CONTEXT)},
  AT("context.type", PERL_CONTEXT, cx_u.cx_blk.blku_type),
  AT("context.old_op", PERL_CONTEXT, cx_u.cx_blk.blku_u16),
  AT("context.statement", PERL_CONTEXT, cx_u.cx_blk.blku_oldcop),
  AT("context.code", PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_sub.cv),
  {"context.type_mask", CXTYPEMASK},
  {"context.null", CXt_NULL},
  {"context.sub", CXt_SUB},
  {"context.format", CXt_FORMAT},
  {"context.eval", CXt_EVAL},
  {"context.real", CXp_REAL},
  AT("sv.body", SV, sv_any),
  AT("sv.flags", SV, sv_flags),
  AT("sv.union", SV, sv_u),
  {"sv.size", sizeof(SV)},
  {"sv.type_mask", SVTYPEMASK},
  {"sv.code", SVt_PVCV},
  {"sv.glob", SVt_PVGV},
  {"sv.hash", SVt_PVHV},
  {"sv.reference", SVf_ROK},
  AT("sv.count", SV, sv_refcnt),
  {"sv.weak", SVf_ROK | SVprv_WEAKREF},
  {"sv.text", SVf_POK | SVp_POK},
  {"sv.object", SVs_OBJECT},
  {"sv.glob_with_parts", SVpgv_GP},
  {"type.nv", SVt_NV},
  {"type.pv", SVt_PV},
  {"type.pviv", SVt_PVIV},
  {"type.pvnv", SVt_PVNV},
  {"type.pvmg", SVt_PVMG},
  {"type.pvlv", SVt_PVLV},
  {"type.array", SVt_PVAV},
  {"body.pv", sizeof(XPV)},
  {"body.pviv", sizeof(XPVIV)},
  {"body.pvnv", sizeof(XPVNV)},
  {"body.pvmg", sizeof(XPVMG)},
  {"body.pvlv", sizeof(XPVLV)},
  {"body.array", sizeof(XPVAV)},
  {"body.hash", sizeof(XPVHV)},
  AT("scalar.room", XPV, xpv_len_u),
  AT("any.magic", XPVMG, xmg_u),
  AT("any.package", XPVMG, xmg_stash),
  {"array.owns", SVpav_REAL},
  AT("array.fill", XPVAV, xav_fill),
  AT("array.maximum", XPVAV, xav_max),
  AT("hash.keys", XPVHV, xhv_keys),
  AT("entry.next", HE, hent_next),
  AT("entry.key", HE, hent_hek),
  AT("entry.value", HE, he_valu),
  {"entry.size", sizeof(HE)},
  AT("magic.next", MAGIC, mg_moremagic),
  AT("magic.type", MAGIC, mg_type),
  AT("magic.object", MAGIC, mg_obj),
  {"magic.size", sizeof(MAGIC)},
  AT("glob.scalar", GP, gp_sv),
  AT("glob.array", GP, gp_av),
  AT("glob.hash", GP, gp_hv),
  AT("glob.form", GP, gp_form),
  AT("code.pads", XPVCV, xcv_padlist_u),
  AT("code.root", XPVCV, xcv_root_u),
  AT("pads.list", PADLIST, xpadl_arr),
  AT("pads.maximum", PADLIST, xpadl_max),
  AT("names.list", PADNAMELIST, xpadnl_alloc),
  AT("names.maximum", PADNAMELIST, xpadnl_max),
  AT("name.text", PADNAME, xpadn_pv),
  AT("name.length", PADNAME, xpadn_len),
  {"code.size", sizeof(XPVCV)},
  AT("code.flags", XPVCV, xcv_flags),
  AT("code.name", XPVCV, xcv_gv_u),
  AT("code.package", XPVCV, xcv_stash),
  AT("code.start", XPVCV, xcv_start_u),
  {"code.named", CVf_NAMED},
  {"code.xs", CVf_ISXSUB},
  AT("glob.name", XPVGV, xiv_u),
  AT("glob.package", XPVGV, xnv_u),
  {"glob.size", sizeof(XPVGV)},
  AT("glob.code", GP, gp_cv),
  {"hash.aux_in_body", AUX_IN_BODY},
  {"hash.has_aux", HAS_AUX},
  AT("hash.maximum", XPVHV, xhv_max),
  AT("aux.name", struct xpvhv_aux, xhv_name_u),
  AT("aux.name_count", struct xpvhv_aux, xhv_name_count),
  {"aux.size", sizeof(struct xpvhv_aux)},
  AT("key.length", HEK, hek_len),
  AT("key.text", HEK, hek_key),
  {"key.utf8", HVhek_UTF8},
  {"statement.size", sizeof(COP)},
  AT("statement.line", COP, cop_line),
  COP_FILE,
  {"op.size", sizeof(OP)},
  AT("op.sibling", OP, op_sibparent),
  AT("op.target", OP, op_targ),
  AT("op.flags", OP, op_flags),
  {"op.has_kids", OPf_KIDS},
  {"op.modifies", OPf_MOD},
  AT("op.first", UNOP, op_first),
  AT("op.auxiliary", UNOP_AUX, op_aux),
  AT("op.value", SVOP, op_sv), /* and op_padix of a PADOP */
  {"op.next_statement", OP_NEXTSTATE},
  {"op.debug_statement", OP_DBSTATE},
  {"op.call", OP_ENTERSUB},
  {"op.require", OP_REQUIRE},
  {"op.do_file", OP_DOFILE},
  {"", 0},
};

/* The bits that are set show the place of the op's type, because offsetof cannot name a bit
 * field. */
const OP mehari_perl_op = {.op_type = 0x1ff};
