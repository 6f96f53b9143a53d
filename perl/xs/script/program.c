/* Runs a script as perl itself would: at the top level of main, once, in its own process. The
 * children of the rungs `fork` and `rewind` call this file. */
#include "script/script.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "response/response.h"
#include "stdio/standard.h"
#include "trace/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

MEHARI_WRITTEN bool mehari_is_program;

static void run_blocks(pTHX_ AV *blocks)
{
  while (blocks && av_top_index(blocks) >= 0) {
    dSP;
    PUSHMARK(SP);
    call_sv(sv_2mortal(av_shift(blocks)), G_VOID | G_DISCARD);
  }
}

static SSize_t count_end_blocks(pTHX) { return PL_endav ? av_top_index(PL_endav) + 1 : 0; }

static bool has_blocks_to_run(pTHX) { return count_end_blocks(aTHX) && !mehari_ends_are_idle(aTHX_ PL_endav); }

static void run_as_main(pTHX_ void *argument)
{
  mehari_script *script = argument;
  mehari_begin_check(aTHX);
  run_blocks(aTHX_ PL_checkav);
  mehari_begin_init(aTHX);
  run_blocks(aTHX_ PL_initav);
  mehari_begin_run(aTHX);
  mehari_become_main(aTHX_ script->code);
  CALLRUNOPS(aTHX);
  /* Perl destroys the main program's `my` variables before the END blocks, as `exit` does here. */
  if (has_blocks_to_run(aTHX))
    mehari_leave_block_of_main(aTHX);
}

/* Ends the program in place of the sub's last op, which would return from a call that was never
 * made. */
static OP *end_of_program(pTHX)
{
  PERL_UNUSED_CONTEXT;
  return NULL;
}

/* ---- the end of a program ---- */

/* With `leaves_idle`, leaves blocks that would do nothing in the list. */
static void run_end_blocks(pTHX_ bool leaves_idle)
{
  while (leaves_idle ? has_blocks_to_run(aTHX) : count_end_blocks(aTHX) > 0) {
    SV *block = av_shift(PL_endav);
    dSP;
    PUSHMARK(SP);
    call_sv(block, G_VOID | G_DISCARD | G_EVAL); /* clears $@ first, as perl does */
    if (SvTRUE(ERRSV)) {
      sv_catpvs(ERRSV, "END failed--call queue aborted.");
      mehari_log_exception(aTHX_ "END");
    }
  }
}

static void end_program(pTHX_ void *argument)
{
  /* Perl closes a pipe that the script left open, and waits for the pipe's process. */
  bool due = mehari_may_have_spawned;
  PERL_UNUSED_ARG(argument);
  if (mehari_is_replaced) {
    mehari_exact_end(aTHX);
    mehari_stdout_flush(aTHX);
    return;
  }
  mehari_begin_end(aTHX);
  run_end_blocks(aTHX_ true);
  mehari_exact_end(aTHX); /* needs the interpreter */
  mehari_stdout_flush(aTHX);
  if (mehari_tap_is_open())
    mehari_output_spill(); /* precedes the last output of processes at open pipes */
  if (due || mehari_destructors_due(aTHX)) {
    run_end_blocks(aTHX_ false); /* a destructor may see what the blocks have done */
    mehari_leave_main(aTHX);
    mehari_give_main_away(aTHX);
    PL_perl_destruct_level = 0; /* objects are destroyed, but their memory need not be freed */
    mehari_destruct(aTHX);
  } else
    PerlIO_flush((PerlIO *)NULL);
}

/* An `exit` in an END block ends only this block. */
void mehari_end_program(pTHX)
{
  SSize_t due;
  do
    due = count_end_blocks(aTHX);
  while (mehari_guard(aTHX_ end_program, NULL, NULL) == MEHARI_EXITED && mehari_is_at_end(aTHX) && due);
}

/* Appends a word's decoded bytes to `into`, with a backslash before each character that a shell
 * would interpret, as server/cgi/src/arguments.rs does for the rung `cgi`. False: the word does not
 * decode. */
static bool add_argument(pTHX_ SV *into, mehari_text word)
{
  for (STRLEN i = 0; i < word.length; i++) {
    char byte = word.at[i];
    if (byte == '%') {
      if (i + 2 >= word.length || !isXDIGIT(word.at[i + 1]) || !isXDIGIT(word.at[i + 2]))
        return false;
      byte = (char)(XDIGIT_VALUE(word.at[i + 1]) << 4 | XDIGIT_VALUE(word.at[i + 2]));
      i += 2;
    }
    if (!byte)
      return false;
    if (strchr("&;`'\"|*?~<>^()[]{}$\\\n", byte))
      sv_catpvs(into, "\\");
    sv_catpvn(into, &byte, 1);
  }
  return true;
}

/* Fills @ARGV with the words of an indexed query (RFC 3875 section 4.4). A query with `=`, or one
 * that does not decode, has no words. */
static void set_arguments(pTHX)
{
  AV *old = PL_argvgv ? GvAV(PL_argvgv) : NULL;
  if (old && av_top_index(old) >= 0)
    av_clear(old);
  mehari_text rest = mehari_request_text(MEHARI_TEXT_QUERY);
  if (!rest.length || memchr(rest.at, '=', rest.length))
    return;
  AV *arguments = get_av("ARGV", GV_ADD);
  for (const char *plus = rest.at; plus;) {
    plus = memchr(rest.at, '+', rest.length);
    mehari_text word = {rest.at, plus ? (size_t)(plus - rest.at) : rest.length};
    SV *argument = newSVpvs("");
    av_push(arguments, argument);
    if (!add_argument(aTHX_ argument, word)) {
      av_clear(arguments);
      return;
    }
    if (plus)
      rest = (mehari_text){plus + 1, rest.length - word.length - 1};
  }
}

/* Returns the command line of another perl: its switches in one argument, as the kernel passes a #!
 * line, then the file and the words of @ARGV. The words are at most as many as the bytes of a
 * query, whose length is limited. */
static char **own_command_line(pTHX_ char *perl, char *switches, char *file)
{
  AV *words = get_av("ARGV", GV_ADD);
  SSize_t count = av_top_index(words) + 1;
  char **line = (char **)SvPVX(sv_2mortal(newSV((count + 4) * sizeof *line)));
  line[0] = perl;
  line[1] = switches;
  line[2] = file;
  for (SSize_t i = 0; i < count; i++)
    line[3 + i] = SvPV_nolen(*av_fetch(words, i, 1));
  line[3 + count] = NULL;
  return line;
}

/* Runs another perl, as `#!perl -T` and similar switches require. That perl writes to descriptor
 * 1. */
static void run_own_perl(pTHX_ char *switches, const char *file)
{
  mehari_input_spill();
  mehari_environment_export(aTHX);
  mehari_output_share(aTHX);
  pid_t child = fork();
  if (!child) {
    char *perl = SvPV_nolen(get_sv("\030", GV_ADD));
    execv(perl, own_command_line(aTHX_ perl, switches, (char *)file));
    _exit(127);
  }
  if (child > 0)
    mehari_tap_await(child);
}

/* Sets the state of a fresh process: the time, and the request's %ENV, handles and @ARGV. */
static void begin(pTHX)
{
  mehari_in_child = false;
  mehari_may_have_spawned = mehari_is_replaced = false;
  mehari_is_program = true;
  mehari_forget_random_seed(aTHX);
  time(&PL_basetime);
  PL_laststatval = -1; /* of `_`, which a module may have set while it was loaded */
  mehari_output_begin(aTHX);
  mehari_input_begin(aTHX);
  mehari_errors_begin(aTHX);
  mehari_environment_begin(aTHX);
  set_arguments(aTHX);
}

void mehari_program_prepare(mehari_script *script)
{
  CvROOT(script->code)->op_ppaddr = end_of_program;
  mehari_enter_main(script->code);
}

static int run_script(pTHX_ mehari_script *script)
{
  int status = 0;
  if (script->warnings)
    PL_dowarn |= G_WARN_ON;
  if (script->ends_lines)
    mehari_end_lines(aTHX);
  if (CvROOT(script->code)->op_ppaddr != end_of_program)
    mehari_program_prepare(script);
  mehari_script_open_data(aTHX_ script);
  mehari_exit_called = false;
  uint64_t start = mehari_trace_start();
  mehari_outcome outcome = mehari_guard(aTHX_ run_as_main, script, &status);
  if (mehari_in_child)
    mehari_child_leave(aTHX_ status);
  mehari_trace_part(MEHARI_PART_SCRIPT, start, "script", (mehari_text){script->file, strlen(script->file)});
  if (outcome == MEHARI_EXITED && !mehari_exit_called && status)
    mehari_errors_name_script(script->file);
  mehari_learning_report(aTHX_ script->file);
  mehari_end_program(aTHX);
  if (mehari_in_child) {
    mehari_output_spill();
    _exit(status);
  }
  return status;
}

/* Runs a program. If `script` is NULL, compiles the program first, as part of the request. */
void mehari_program_run(pTHX_ mehari_script *script, const char *file)
{
  int status = 0;
  begin(aTHX);
  mehari_exact_begin(aTHX);
  if (!script)
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &status);
  if (mehari_in_child)
    mehari_child_leave(aTHX_ 255);
  if (script && script->own_perl)
    run_own_perl(aTHX_ script->own_perl, file);
  else if (script)
    run_script(aTHX_ script);
  else if (!status || mehari_output_bytes())
    mehari_end_program(aTHX);
  if (!script && status && !mehari_output_bytes())
    mehari_output_error(status);
  else
    mehari_output_end(aTHX);
  mehari_exact_end(aTHX);
  mehari_errors_end(aTHX);
  mehari_template_child_leaves(aTHX_ 0);
}
