/* Parses query strings and urlencoded bodies. */
#include "api/form.h"
#include "request/record.h"

static int digit(char at)
{
  if (at >= '0' && at <= '9')
    return at - '0';
  at |= 0x20;
  return at >= 'a' && at <= 'f' ? at - 'a' + 10 : -1;
}

/* Returns the value of `count` hexadecimal digits, or -1. */
static long hexadecimal(const char *at, const char *end, int count)
{
  if (end - at < count)
    return -1;
  long value = 0;
  for (int i = 0; i < count; i++) {
    int next = digit(at[i]);
    if (next < 0)
      return -1;
    value = value << 4 | next;
  }
  return value;
}

/* Writes a character as UTF-8. It comes from %uXXXX, which JavaScript's escape() writes. The escape
 * is longer than the at most three bytes of UTF-8, so there is room. */
static char *put_character(char *into, long character)
{
  if (character < 0x80) {
    *into++ = character;
  } else if (character < 0x800) {
    *into++ = 0xc0 | character >> 6;
    *into++ = 0x80 | (character & 0x3f);
  } else {
    *into++ = 0xe0 | character >> 12;
    *into++ = 0x80 | (character >> 6 & 0x3f);
    *into++ = 0x80 | (character & 0x3f);
  }
  return into;
}

ssize_t mehari_form_decode(char *into, mehari_text text)
{
  char *next = into;
  for (const char *at = text.at, *end = at + text.length; at < end;) {
    if (*at == '+') {
      *next++ = ' ';
      at++;
    } else if (*at != '%') {
      *next++ = *at++;
    } else if (end - at > 1 && (at[1] == 'u' || at[1] == 'U')) {
      long character = hexadecimal(at + 2, end, 4);
      if (character < 0)
        return -1;
      next = put_character(next, character);
      at += 6;
    } else {
      long byte = hexadecimal(at + 1, end, 2);
      if (byte < 0)
        return -1;
      *next++ = byte;
      at += 3;
    }
  }
  return next - into;
}

/* Adds a pair. `scratch` has room for the whole text. The decoded name and value together are never
 * longer than the text. */
static bool add_pair(mehari_table *into, mehari_text pair, char *scratch)
{
  const char *equals = memchr(pair.at, '=', pair.length);
  mehari_text name = {pair.at, equals ? (STRLEN)(equals - pair.at) : pair.length};
  mehari_text value = {equals ? equals + 1 : "", equals ? pair.length - name.length - 1 : 0};
  ssize_t name_length = mehari_form_decode(scratch, name);
  if (name_length < 0)
    return false;
  ssize_t value_length = mehari_form_decode(scratch + name_length, value);
  if (value_length < 0)
    return false;
  mehari_table_add(into, (mehari_text){scratch, name_length}, (mehari_text){scratch + name_length, value_length});
  return true;
}

int mehari_form_urlencoded(mehari_table *into, mehari_text text)
{
  char small[1024], *scratch = text.length <= sizeof small ? small : safemalloc(text.length);
  int status = MEHARI_FORM_OK;
  for (const char *at = text.at, *end = at + text.length; at < end && !status;) {
    const char *stop = at;
    while (stop < end && *stop != '&' && *stop != ';')
      stop++;
    if (into->count >= MEHARI_FORM_PARAMETERS)
      status = MEHARI_FORM_OVER_LIMIT;
    else if (stop > at && !add_pair(into, (mehari_text){at, stop - at}, scratch))
      status = MEHARI_FORM_BAD_SEQUENCE;
    at = stop + 1;
  }
  if (scratch != small)
    Safefree(scratch);
  return status;
}
