/* Scripts as compiled code, and the functions that run them. */
#ifndef MEHARI_SCRIPT_H
#define MEHARI_SCRIPT_H

#include "interpreter/interpreter.h"

/* script.c, source.c, data.c, failure.c: compiled scripts. */
typedef struct {
  CV *inner;
  PADOFFSET inner_slot;
  CV *outer;
  PADOFFSET outer_slot;
} mehari_rebind;
/* die_hooks.c: copies of $SIG{__DIE__} and $SIG{__WARN__}. NULL: none. */
typedef struct {
  SV *die, *warn;
} mehari_hooks;
bool mehari_is_same_handler(SV *now, SV *before);
void mehari_hooks_read(pTHX_ mehari_hooks *hooks); /* notes the present hooks */
/* Keeps the hooks that changed since; frees `before`. */
void mehari_hooks_keep_changed(pTHX_ mehari_hooks *hooks, mehari_hooks *before);
void mehari_hooks_restore(pTHX_ const mehari_hooks *hooks);
void mehari_hooks_free(pTHX_ mehari_hooks *hooks);

/* files.c: files of code. */
uint64_t mehari_mark(const struct stat *seen);
/* Whether the front has seen this file of the request under this mark and watches the file, so that
 * the file is unchanged. */
bool mehari_is_unchanged_since_front(mehari_text file, uint64_t mark);

typedef struct mehari_script {
  char *file;
  uint64_t made_from; /* the mark of the file */
  unsigned mark; /* bytes of the byte order mark before the text */
  CV *code;
  HV *stash;
  AV *ends;
  bool has_data;
  Off_t data_offset;
  SV *data;
  GV *data_handle;
  mehari_hooks hooks; /* the hooks that the compilation set */
  bool warnings;  /* #! -w */
  bool ends_lines; /* #! -l */
  bool taints; /* #! -T */
  char *own_perl; /* the switches of a #! line that only a perl of its own can follow */
  bool printed; /* whether compiling printed output or read input */
  mehari_rebind *rebinds;
  int rebind_count;
  HV *uris; /* the URLs under which the script has run; bounded, for the inspector */
  mehari_text last_uri; /* a key of `uris` */
} mehari_script;
typedef enum { MEHARI_AS_REGISTRY, MEHARI_AS_PERLRUN, MEHARI_AS_PROGRAM } mehari_manner;
/* Compiles a script. NULL: `status` is the response's status (403, 404, 500), and the log has the
 * reason. Status 0: the script ended itself, and its output is the response. */
mehari_script *mehari_script_compile(pTHX_ const char *file, mehari_manner manner, int *status);
void mehari_script_free(pTHX_ mehari_script *script);
bool mehari_script_unchanged(const mehari_script *script, mehari_text file, int *status);
void mehari_script_open_data(pTHX_ mehari_script *script);
void mehari_script_hooks(pTHX);
void mehari_script_top_level(pTHX);

/* captures.c */
void mehari_script_find_captures(pTHX_ mehari_script *script);
void mehari_script_rebind(pTHX_ mehari_script *script);

/* cgi_globals.c, cgi_params.c: CGI.pm */
void mehari_forget_cgi(pTHX);
void mehari_cgi_loaded(pTHX); /* checks whether CGI.pm was loaded, or loaded again */
void mehari_cgi_outside_mod_perl(pTHX);
void mehari_cgi_prepare(pTHX); /* in a template, after all modules are loaded */
void mehari_cgi_params_boot(pTHX);

/* filters.c: called after a file was loaded, because it may define a sub that adds filters. */
void mehari_filters_loaded(pTHX);

/* purity.c: finds out whether a compilation has effects besides definitions. */
void mehari_purity_begin(void);
void mehari_purity_judge(pTHX_ const char *word, STRLEN length);
bool mehari_purity_holds(void);
bool mehari_purity_of_modules(pTHX); /* whether all newly loaded modules are perl's own */
/* Makes this process end before the first effect. The effect's line is written to `effect`, which
 * may be NULL. */
void mehari_purity_try(uint32_t *effect);

/* registry.c: the rungs `registry` and `perlrun`. Each serves mehari_now and leaves a response. */
void mehari_registry_serve(pTHX);
void mehari_registry_preload(pTHX_ const char *file);
void mehari_perlrun_serve(pTHX);
void mehari_registry_boot(pTHX);
/* Enters the folder of `file`. NULL or a name without `/`: the folder in which the server was
 * started. */
void mehari_enter_directory(const char *file);
void mehari_set_program_name(pTHX_ const char *file);
/* Sets $0 to the path of the server's program, as under mod_perl. FindBin looks for this file. */
void mehari_unname_program(pTHX);

/* program.c: runs a script as perl itself would, once, in its own process. */
void mehari_program_run(pTHX_ mehari_script *script, const char *file) __attribute__((noreturn));
/* Called in the template, so that no request needs to write what is the same for all. */
void mehari_program_prepare(mehari_script *script);
extern bool mehari_is_program; /* whether this process runs a script as perl itself would */
void mehari_end_program(pTHX);

/* ends.c: END blocks that would do nothing. */
void mehari_ends_prepare(pTHX); /* in a template, after all modules are loaded */
bool mehari_ends_are_idle(pTHX_ AV *ends);

/* program_within.c: runs the current sub-request, whose environment is in %ENV. Returns 0, or a
 * status. */
int mehari_program_run_subrequest(pTHX_ const char *file);

#endif
