/* perl's private parts, each behind a name: jump levels, contexts, arenas, pads, the parser. No
 * other file of the XS touches them. Variables that every extension reads (PL_op, PL_curcop,
 * PL_endav, PL_diehook) are used directly.
 *
 * Each comment names the place in perl's sources, and the versions of perl in which a developer has
 * read this place. READ stands for 5.32.1, 5.36.0, 5.40.1 and 5.42.3. A new perl counts as
 * supported after a developer has read these places in its sources. `make perls` tests the
 * versions. */
#ifndef MEHARI_PERL_INTERNALS_H
#define MEHARI_PERL_INTERNALS_H

#include "mehari.h"

#ifdef PERL_RC_STACK
#error "This perl counts references on its stack (PERL_RC_STACK): the replaced operators are not written for that."
#endif

/* ---- jump levels ---- */

/* A jump level, to which `die` and `exit` jump: cop.h (JMPENV_PUSH), perl.c (perl_run). READ. The
 * names are macros, because setjmp(3) returns into the function that calls it. */
#define MEHARI_JUMP_LEVEL dJMPENV
#define MEHARI_JUMP_ENTER(jumped) JMPENV_PUSH(jumped)
#define MEHARI_JUMP_LEAVE JMPENV_POP
enum { MEHARI_JUMPED_NOT = 0, MEHARI_JUMPED_BY_EXIT = 2, MEHARI_JUMPED_BY_DIE = 3 };

/* Lets the program continue after the `eval` that caught a `die`. False: no eval of this level
 * caught it. perl.c (perl_call_sv, case 3). READ. */
static inline bool mehari_resume_after_eval(pTHX)
{
  if (!PL_restartop)
    return false;
  PL_restartjmpenv = NULL;
  PL_op = PL_restartop;
  PL_restartop = NULL;
  return true;
}

/* How full perl's stacks are. */
typedef struct {
  I32 scopes;
  SSize_t marks, values;
} mehari_depth;

static inline mehari_depth mehari_depth_now(pTHX)
{
  return (mehari_depth){PL_scopestack_ix, PL_markstack_ptr - PL_markstack, PL_stack_sp - PL_stack_base};
}

/* Leaves all scopes that were entered since `depth` was read, as perl_run does after an `exit`:
 * perl.c (case 2). READ. */
static inline void mehari_unwind(pTHX_ mehari_depth depth)
{
  while (PL_scopestack_ix > depth.scopes)
    LEAVE;
  FREETMPS;
  SvREFCNT_dec(PL_curstash);
  PL_curstash = (HV *)SvREFCNT_inc_simple((SV *)PL_defstash);
  PL_curcop = &PL_compiling;
  PL_op = NULL;
  PL_markstack_ptr = PL_markstack + depth.marks;
  PL_stack_sp = PL_stack_base + depth.values;
}

/* ---- code within running code ---- */

/* What a jump level within running Perl code puts aside. `exit`, and a `die` that no eval catches,
 * leave every context, scope and stack down to the bottom of the main program: perl.c
 * (my_exit_jump), pp_ctl.c (die_unwind). READ in 5.36.0. The level therefore gets stacks of its
 * own, which count as those of the main program. The `eval`s around the level are hidden. */
typedef struct {
  AV *stack;
  ANY *saved;
  I32 saved_ix, saved_max;
  SSize_t floor;
  COP *place;
  OP *op;
  U8 in_eval;
} mehari_around;

static inline mehari_around mehari_put_aside(pTHX)
{
  enum { SAVED = 128, MOST_PUSHED = 4 /* SS_MAXPUSH */ };
  mehari_around around = {PL_mainstack, PL_savestack, PL_savestack_ix, PL_savestack_max, PL_tmps_floor, PL_curcop, PL_op, PL_in_eval};
  dSP;
  PUSHSTACKi(PERLSI_UNKNOWN);
  PL_mainstack = PL_curstack;
  Newxz(PL_savestack, SAVED, ANY);
  PL_savestack_ix = 0;
  PL_savestack_max = SAVED - MOST_PUSHED;
  PL_tmps_floor = PL_tmps_ix;
  PL_in_eval = EVAL_NULL;
  return around;
}

static inline void mehari_take_back(pTHX_ const mehari_around *around)
{
  Safefree(PL_savestack);
  PL_savestack = around->saved;
  PL_savestack_ix = around->saved_ix;
  PL_savestack_max = around->saved_max;
  PL_tmps_floor = around->floor;
  PL_mainstack = around->stack;
  POPSTACK;
  PL_curcop = around->place;
  PL_op = around->op;
  PL_in_eval = around->in_eval;
}

/* ---- the main program ---- */

/* Marks a sub as running, once. The main program is not left before perl itself ends. */
static inline void mehari_enter_main(CV *code) { CvDEPTH(code) = 1; }

/* Makes a compiled sub the main program, and its first op the next op. Pushes the block in which
 * perl's main program runs, because each statement starts from the block's stack level. perl.c
 * (S_run_body), pp_hot.c (pp_entersub), inline.h (cx_pushblock). READ. */
static inline void mehari_become_main(pTHX_ CV *code)
{
  PL_main_cv = code;
  PL_main_root = CvROOT(code);
  PL_main_start = CvSTART(code);
  if (CvDEPTH(code) != 1)
    mehari_enter_main(code);
  PL_comppad = PadlistARRAY(CvPADLIST(code))[1];
  PL_curpad = AvARRAY(PL_comppad);
  cx_pushblock(CXt_BLOCK, G_VOID, PL_stack_sp, PL_savestack_ix);
  PL_op = CvSTART(code);
}

/* Prepares for the compilation of a main program: perl.c (perl_parse). op.c
 * (S_process_special_blocks) keeps CHECK and INIT blocks in these lists. READ. */
static inline void mehari_await_main(pTHX)
{
  PL_main_start = NULL;
  PL_checkav = PL_initav = NULL; /* the blocks of preloaded modules do not run */
  PERL_SET_PHASE(PERL_PHASE_START);
}

/* Leaves the block, and with it the scope of the `my` variables. perl.c (my_exit_jump). READ. */
static inline void mehari_leave_block_of_main(pTHX) { dounwind(-1); }

static inline void mehari_begin_check(pTHX) { PERL_SET_PHASE(PERL_PHASE_CHECK); }
static inline void mehari_begin_init(pTHX) { PERL_SET_PHASE(PERL_PHASE_INIT); }
static inline void mehari_begin_run(pTHX) { PERL_SET_PHASE(PERL_PHASE_RUN); }
static inline void mehari_begin_end(pTHX) { PERL_SET_PHASE(PERL_PHASE_END); }
static inline bool mehari_is_at_end(pTHX) { return PL_phase == PERL_PHASE_END; }

/* Marks the main program as ended, so that code that runs later is not inside the main program. */
static inline void mehari_leave_main(pTHX) { CvDEPTH(PL_main_cv) = 0; }

/* Takes the body of the main program away from its sub. perl_destruct frees the body by
 * PL_main_root and must not free it a second time with the sub. perl.c (perl_destruct). READ. */
static inline void mehari_give_main_away(pTHX)
{
  mehari_leave_block_of_main(aTHX);
  CvROOT(PL_main_cv) = NULL;
  CvSTART(PL_main_cv) = NULL;
}

/* Calls perl_destruct. perl.h declares it without the usual macro, so a perl without threads
 * needs its interpreter named. READ. */
static inline void mehari_destruct(pTHX)
{
#ifdef MULTIPLICITY
  perl_destruct(aTHX);
#else
  perl_destruct(PL_curinterp);
#endif
}

/* Makes the next `rand` call `srand` again: pp.c (pp_rand). READ. */
static inline void mehari_forget_random_seed(pTHX) { PL_srand_called = FALSE; }

/* Sets what `perl -l` sets: perl.c (moreswitches). READ. */
static inline void mehari_end_lines(pTHX)
{
  PL_minus_l = TRUE;
  PL_ors_sv = newSVpvs("\n");
}

/* Whether perl_destruct has closed all handles: perlio.c (PerlIO_destruct, PerlIO_cleanup).
 * READ. */
static inline bool mehari_perl_has_ended(pTHX) { return !PL_perlio; }

/* ---- values ---- */

/* Loops over all living values: sv.c (S_visit). READ. The first place of an arena holds the
 * address of the next arena and the number of places. */
#define MEHARI_EACH_VALUE(each)                                                            \
  for (SV *arena_ = PL_sv_arenaroot; arena_; arena_ = (SV *)SvANY(arena_))                 \
    for (SV *each = arena_ + 1, *end_ = &arena_[SvREFCNT(arena_)]; each < end_; each++)    \
      if (SvTYPE(each) != (svtype)SVTYPEMASK && SvREFCNT(each))

/* Makes perl forget the free places in its arenas, so that perl takes new arenas from malloc: sv.c,
 * intrpvar.h. READ. */
static inline void mehari_forget_free_values(pTHX)
{
  PL_sv_root = NULL;
  for (int i = 0; i < PERL_ARENA_ROOTS_SIZE; i++)
    PL_body_roots[i] = NULL;
}

/* ---- pads ---- */

/* Returns a lexical of a sub that does not call itself: pad.h. READ. */
static inline SV **mehari_lexical(CV *code, PADOFFSET slot)
{
  return &PadARRAY(PadlistARRAY(CvPADLIST(code))[1])[slot];
}

/* Returns the last slot of a sub's lexicals. The first slot is 1. */
static inline PADOFFSET mehari_last_lexical(CV *code) { return (PADOFFSET)PadnamelistMAX(PadlistNAMES(CvPADLIST(code))); }

/* Returns the slot in the enclosing sub from which this closure's slot is captured. 0: the slot is
 * not a captured `my` variable. pad.c (S_pad_findlex). READ. */
static inline PADOFFSET mehari_captured_from(CV *code, PADOFFSET slot)
{
  PADNAME *name = PadnamelistARRAY(PadlistNAMES(CvPADLIST(code)))[slot];
  if (!name || PadnameLEN(name) < 2 || !PadnameOUTER(name) || PadnameIsOUR(name) || PadnameIsSTATE(name) || PadnamePV(name)[0] == '&')
    return 0;
  return PARENT_PAD_INDEX(name);
}

/* Whether a sub is an ordinary sub with Perl code: neither a prototype of closures nor a closure.
 * cv.h. READ. */
static inline bool mehari_is_plain_sub(CV *code)
{
  return !CvISXSUB(code) && CvPADLIST(code) && !CvCLONE(code) && !CvCLONED(code);
}

/* ---- the parser ---- */

/* Whether the parser reads from a file, not from a string: parser.h (rsfp). READ. */
static inline bool mehari_parser_reads_file(pTHX) { return PL_parser->rsfp != NULL; }

/* Returns the text in the parser's buffer that is not read yet. A keyword plugin may move the start
 * of this text: perlapi, PL_bufptr. READ. */
static inline char *mehari_parser_rest(pTHX_ char **end)
{
  *end = PL_parser->bufend;
  return PL_parser->bufptr;
}
static inline void mehari_parser_skip_to(pTHX_ char *at) { PL_parser->bufptr = at; }

/* Cuts the parser's text at this place, and makes the parser read on from this handle, which it
 * closes. This is the state of a parser that reads a file: toke.c (lex_next_chunk), parser.h (rsfp,
 * linestr, bufend). READ in 5.36.0. */
static inline void mehari_parser_read_on(pTHX_ char *at, PerlIO *rest)
{
  *at = '\0';
  SvCUR_set(PL_parser->linestr, at - SvPVX(PL_parser->linestr));
  PL_parser->bufend = at;
  PL_parser->rsfp = rest;
}
/* Returns the chain of source filters, the newest first: parser.h (rsfp_filters). READ in
 * 5.36.0. */
static inline AV *mehari_parser_filters(pTHX) { return PL_parser->rsfp_filters; }
/* Returns the position in that handle. -1: the handle is closed. */
static inline Off_t mehari_parser_position(pTHX) { return PL_parser->rsfp ? PerlIO_tell(PL_parser->rsfp) : -1; }

/* Whether the parser has found errors. After an error the parser goes on to find further errors:
 * parser.h (error_count). READ. */
static inline bool mehari_parser_has_errors(pTHX) { return PL_parser->error_count != 0; }

/* Makes the sub that is being compiled count as a file: `shift` takes from @ARGV, and named subs
 * share its lexicals. cv.h (CvUNIQUE), op.c (ck_shift). READ. */
static inline void mehari_compile_as_file(pTHX)
{
  if (PL_compcv)
    CvFLAGS(PL_compcv) |= CVf_UNIQUE;
}
static inline void mehari_compiled_as_sub(CV *code) { CvFLAGS(code) &= ~CVf_UNIQUE; }

/* ---- operators ---- */

/* Returns the arguments of the operator that is about to run, and their number in `count`. pp.h
 * (dMARK, dORIGMARK). READ. */
static inline SV **mehari_arguments(pTHX_ SSize_t *count)
{
  SV **first = PL_stack_base + *PL_markstack_ptr + 1;
  *count = PL_stack_sp - first + 1;
  return first;
}

/* Whether the eval that perl is about to leave has loaded a file, such as a module: cop.h
 * (CXt_EVAL). READ. */
static inline bool mehari_leaves_loaded_file(pTHX) { return CxOLD_OP_TYPE(CX_CUR()) == OP_REQUIRE; }

/* Returns the number of the last string eval, by which perl names the eval's code: `(eval 12)`.
 * pp_ctl.c (pp_entereval). To be read in the sources of each perl. */
static inline U32 mehari_evals(pTHX) { return PL_evalseq; }
static inline void mehari_set_evals(pTHX_ U32 number) { PL_evalseq = number; }

/* Whether the innermost context is a file that is being loaded, and the file's name in %INC. NULL:
 * the context is something else. cop.h (CXt_EVAL, old_namesv). READ. */
static inline SV *mehari_file_being_loaded(pTHX)
{
  if (cxstack_ix < 0 || CxTYPE(CX_CUR()) != CXt_EVAL || CxOLD_OP_TYPE(CX_CUR()) != OP_REQUIRE)
    return NULL;
  return CX_CUR()->blk_eval.old_namesv;
}

/* Replaces an operator. An op takes its function from the table PL_ppaddr when the op is compiled:
 * opcode.h. READ. */
static inline void mehari_replace_operator(int op, OP *(*with)(pTHX), OP *(**original)(pTHX))
{
  *original = PL_ppaddr[op];
  PL_ppaddr[op] = with;
}

/* ---- calls ---- */

/* Iterates over the running subs, the innermost first, on all of perl's stacks: cop.h (PERL_SI,
 * CXt_SUB). READ. */
typedef struct {
  const PERL_SI *stack;
  I32 at;
} mehari_calls;

static inline mehari_calls mehari_calls_now(pTHX) { return (mehari_calls){PL_curstackinfo, PL_curstackinfo->si_cxix}; }

/* Finds the next sub and the statement that called this sub. False: there are no more subs. */
static inline bool mehari_next_call(mehari_calls *calls, CV **code, const COP **caller)
{
  for (; calls->stack; calls->stack = calls->stack->si_prev, calls->at = calls->stack ? calls->stack->si_cxix : -1)
    while (calls->at >= 0) {
      const PERL_CONTEXT *frame = &calls->stack->si_cxstack[calls->at--];
      if (CxTYPE(frame) != CXt_SUB)
        continue;
      *code = frame->blk_sub.cv;
      *caller = frame->blk_oldcop;
      return true;
    }
  return false;
}

/* ---- processes and signals ---- */

/* Returns the process of a piped `open` by the pipe's descriptor. 0: the descriptor is not such a
 * pipe. perl stores the process number without an IOK flag. util.c (my_popen). READ. */
static inline pid_t mehari_process_of_pipe(pTHX_ int file)
{
  SV *held = PL_fdpid && file <= av_top_index(PL_fdpid) ? AvARRAY(PL_fdpid)[file] : NULL;
  return held && SvTYPE(held) == SVt_IV ? (pid_t)SvIVX(held) : 0;
}
static inline int mehari_last_pipe(pTHX) { return PL_fdpid ? (int)av_top_index(PL_fdpid) : -1; }

/* Returns the handlers of %SIG by signal number. NULL: no code has used %SIG yet. mg.c
 * (magic_setsig). READ. */
static inline SV **mehari_signal_handlers(pTHX) { return PL_psig_ptr; }
static inline SV *mehari_signal_handler(pTHX_ int signal) { return PL_psig_ptr ? PL_psig_ptr[signal] : NULL; }

/* Gives a signal a name in perl's table, which stays there until an element of %SIG is deleted or
 * `local` restores a missing one. False: perl has no such table, or a name for the signal already.
 * mg.c (magic_setsig). To be read in the sources of each perl. */
static inline bool mehari_signal_name_once(pTHX_ int signal)
{
  if (!PL_psig_name || PL_psig_name[signal])
    return false;
  PL_psig_name[signal] = newSVpv(PL_sig_name[signal], 0);
  SvREADONLY_on(PL_psig_name[signal]);
  return true;
}
static inline bool mehari_signal_has_name(pTHX_ int signal) { return PL_psig_name && PL_psig_name[signal]; }

/* Returns a place that lies beside the other new places (rewind/tidy.c). */
void *mehari_new_place(size_t size);

static inline void *mehari_moved(const void *old, size_t used, size_t size)
{
  void *moved = mehari_new_place(size);
  memcpy(moved, old, used);
  return moved;
}

/* Moves an array of perl to a new place of malloc. `more` is what perl has behind the elements that
 * it counts. */
#define MEHARI_MOVE(array, count, more) \
  ((array) = mehari_moved((array), (size_t)(count) * sizeof *(array), ((size_t)(count) + (more)) * sizeof *(array)))

static inline void mehari_move_stack_info(pTHX)
{
  PERL_SI *info = PL_curstackinfo;
  MEHARI_MOVE(info, 1, 0);
  if (info->si_prev)
    info->si_prev->si_next = info;
  if (info->si_next)
    info->si_next->si_prev = info;
  PL_curstackinfo = info;
}

/* Moves perl's stacks, which were allocated one by one when perl started, to new places of malloc.
 * Each is addressed by its pointer and an index, apart from the stacks of marks and values:
 * intrpvar.h, cop.h (PERL_SI, PUSHSTACKi, SWITCHSTACK); perl.c (init_stacks) has the sizes. The old
 * places stay allocated. Read in 5.36.0. */
static inline void mehari_move_stacks(pTHX)
{
  AV *values = PL_curstack;
  SSize_t value = PL_stack_sp - PL_stack_base, values_end = PL_stack_max - PL_stack_base;
  SSize_t mark = PL_markstack_ptr - PL_markstack, marks_end = PL_markstack_max - PL_markstack;
  mehari_move_stack_info(aTHX);
  MEHARI_MOVE(PL_markstack, marks_end, 0);
  PL_markstack_ptr = PL_markstack + mark;
  PL_markstack_max = PL_markstack + marks_end;
  MEHARI_MOVE(PL_scopestack, PL_scopestack_max, 0);
  MEHARI_MOVE(PL_savestack, PL_savestack_max, SS_MAXPUSH);
  MEHARI_MOVE(PL_tmps_stack, PL_tmps_max, 0);
  if (AvALLOC(values) == AvARRAY(values) && AvARRAY(values) == PL_stack_base) {
    MEHARI_MOVE(PL_stack_base, AvMAX(values) + 1, 0);
    AvALLOC(values) = AvARRAY(values) = PL_stack_base;
    PL_stack_sp = PL_stack_base + value;
    PL_stack_max = PL_stack_base + values_end;
  }
  MEHARI_MOVE(PL_curstackinfo->si_cxstack, PL_curstackinfo->si_cxmax + 1, 0);
}

/* Returns how many handles hold each descriptor, by its number. Every layer that has a descriptor
 * counts here: perlio.c (PerlIOUnix_refcnt_inc). Read in 5.36.0. */
static inline const int *mehari_held_descriptors(int *count)
{
  *count = PL_perlio_fd_refcnt_size;
  return PL_perlio_fd_refcnt;
}

/* Returns the address of the process's command line, to which `$0 = ...` writes: perl.c
 * (perl_parse). READ. */
static inline const void *mehari_command_line(pTHX) { return PL_origargv[0]; }

#endif
