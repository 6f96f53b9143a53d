/* Finds where a script's text ends, and opens DATA. A keyword plugin finds __END__ and __DATA__. */
#include "script/compile.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"

static int (*next_keyword)(pTHX_ char *, STRLEN, OP **);

bool mehari_script_is_being_read(pTHX)
{
  if (!mehari_compilation_now.is_running || mehari_in_thread(aTHX) || !PL_parser)
    return false;
  if (mehari_parser_reads_file(aTHX) && !mehari_compilation_now.is_filtered)
    return false;
  const char *file = CopFILE(&PL_compiling);
  return file && strEQ(file, mehari_compilation_now.name);
}

static bool is_end_of_text(pTHX_ const char *word, STRLEN length)
{
  if (!mehari_compilation_now.is_running || length != 3 || memNE(word, "sub", 3))
    return false;
  /* Perl appends "\n;" to the text of an eval. */
  const STRLEN wanted = sizeof MEHARI_END_OF_TEXT - 1, added = 2;
  char *end, *at = mehari_parser_rest(aTHX_ &end);
  STRLEN rest = end - at;
  return rest >= wanted && rest <= wanted + added && memEQ(at, MEHARI_END_OF_TEXT, wanted);
}

/* Whether `=>` follows a word. */
static bool is_hash_key(const char *after, const char *end)
{
  while (after < end && isSPACE(*after))
    after++;
  return after + 1 < end && after[0] == '=' && after[1] == '>';
}

char *mehari_script_text_end(char *at, char *end)
{
  const STRLEN footer = sizeof MEHARI_FOOTER - 1;
  while (end - at >= (ptrdiff_t)footer && memNE(end - footer, MEHARI_FOOTER, footer))
    end--;
  return end - at < (ptrdiff_t)footer ? NULL : end - footer;
}

/* Ends the filtered text at __END__ or __DATA__. The lines that no filter has read are DATA. */
static void end_filtered_text(pTHX_ char *end)
{
  STRLEN unread = mehari_script_unread(aTHX);
  mehari_compilation_now.has_text_ended = true;
  mehari_compilation_now.has_data = unread > 0;
  mehari_compilation_now.data_rest = unread;
  mehari_parser_skip_to(aTHX_ end);
}

/* The keyword plugin, which perl calls for every word that may be a keyword. Only the plugin can
 * distinguish a real __END__ or __DATA__ from the same word in a here-document or a hash key. */
static int find_data(pTHX_ char *word, STRLEN length, OP **op)
{
  bool is_end = is_end_of_text(aTHX_ word, length);
  if (is_end)
    mehari_failure_end_of_text(aTHX);
  if (is_end || !mehari_script_is_being_read(aTHX))
    return next_keyword(aTHX_ word, length, op);
  mehari_purity_judge(aTHX_ word, length);
  if (!(length == 7 && memEQ(word, "__END__", 7)) && !(length == 8 && memEQ(word, "__DATA__", 8)))
    return next_keyword(aTHX_ word, length, op);
  char *end, *at = mehari_parser_rest(aTHX_ &end);
  bool is_filtered = mehari_compilation_now.is_filtered;
  char *text_end = is_hash_key(at, end) ? NULL : is_filtered ? end : mehari_script_text_end(at, end);
  if (!text_end)
    return next_keyword(aTHX_ word, length, op);
  mehari_compilation_now.data_package = word[2] == 'D' ? PL_curstash : NULL;
  if (is_filtered)
    end_filtered_text(aTHX_ end);
  else {
    char *feed = memchr(at, '\n', end - at);
    mehari_compilation_now.has_data = true;
    mehari_compilation_now.data_rest = feed && text_end > feed ? text_end - feed - 1 : 0;
    mehari_parser_skip_to(aTHX_ text_end);
  }
  *op = newOP(OP_NULL, 0);
  return KEYWORD_PLUGIN_STMT;
}

void mehari_script_hooks(pTHX)
{
  wrap_keyword_plugin(find_data, &next_keyword);
}

void mehari_script_open_data(pTHX_ mehari_script *script)
{
  if (!script->has_data)
    return;
  IO *io = GvIOn(script->data_handle);
  if (IoIFP(io))
    PerlIO_close(IoIFP(io));
  PerlIO *file = PerlIO_open(script->file, "r");
  if (file)
    PerlIO_seek(file, script->data_offset, SEEK_SET);
  IoIFP(io) = file;
  IoTYPE(io) = IoTYPE_RDONLY;
  IoLINES(io) = 0;
}
