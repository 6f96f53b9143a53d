/* The compilation of a script: the declarations that the files of this task share. */
#ifndef MEHARI_COMPILE_H
#define MEHARI_COMPILE_H

#include "script/script.h"

/* The end of the wrapped text declares a sub that is never called. Its name tells the keyword
 * plugin that the whole text was read. */
#define MEHARI_END_OF_TEXT " Mehari::Unit::end;\n"
#define MEHARI_FOOTER "\n;}sub" MEHARI_END_OF_TEXT

/* script.c: the current compilation, and what data.c finds in its text. */
typedef struct {
  bool is_running, has_data;
  const char *name; /* the name in its #line directive */
  STRLEN data_rest; /* bytes of the file after the __DATA__ line */
  HV *data_package; /* the package of __DATA__; __END__ opens the main program's */
  /* filters.c: whether the script has added a source filter, whether __END__ was read since, and
   * whether the wrapper's footer was read. */
  bool is_filtered, has_text_ended, has_footer;
  int filters_running;
  STRLEN filtered_length; /* bytes of the lines after the first filter */
} mehari_compilation;
extern mehari_compilation mehari_compilation_now;

/* data.c: whether perl compiles the script's own text, not that of a module or of a string eval. */
bool mehari_script_is_being_read(pTHX);
/* Returns where the wrapper's footer begins. NULL: there is no footer, because the text belongs to
 * a string eval. */
char *mehari_script_text_end(char *at, char *end);

/* filters.c: returns how many bytes of the filtered lines are not read yet. */
STRLEN mehari_script_unread(pTHX);

/* source.c: reads the text of the script's file. NULL: there is no text, and `status` is the
 * response's status. */
SV *mehari_script_read(pTHX_ mehari_script *script, int *status);
/* Reads the switches of the first line: `#!... perl ... -w`. */
void mehari_script_read_first_line(pTHX_ mehari_script *script, const char *text, STRLEN length);

/* failure.c: handles a text with errors. */
void mehari_failure_end_of_text(pTHX); /* the whole text was read */
void mehari_failure_put_hook_back(pTHX); /* called after each compilation */
void mehari_failure_report(pTHX_ const char *file, size_t printed_before);

#endif
