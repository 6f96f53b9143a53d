/* Bounded access: array elements are taken and text is copied through these functions, so
 * nothing is written out of bounds. mehari.h includes this file. */
#ifndef MEHARI_BOUNDS_H
#define MEHARI_BOUNDS_H

#include <stdarg.h>
#include <stdio.h>

/* The size of an array. A pointer in place of the array does not compile, because the size of a
 * pointer says nothing about the array. */
#define MEHARI_ROOM(array) (sizeof(array) + 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(array), __typeof__(&(array)[0]))]))

/* For a large static array. The linker puts such arrays behind all small variables (Makefile.PL),
 * so that the variables which each request writes lie together on few pages. */
#define MEHARI_LARGE __attribute__((section(".bss.zlarge")))

/* For a small static variable that each request writes, and for an array of which each request
 * writes the first elements. The linker puts them together on a page: the rung `rewind` copies each
 * written page back. */
#define MEHARI_WRITTEN __attribute__((section(".bss.written.1")))
#define MEHARI_WRITTEN_FIRST __attribute__((section(".bss.written.2")))

/* Takes the next free element of an array. NULL: the array is full. */
#define MEHARI_NEXT(array, count) ((size_t)(count) < MEHARI_ROOM(array) / sizeof *(array) ? &(array)[(count)++] : NULL)

/* Copies the text as a C string. False: the text is too long, and nothing was written. */
static inline bool mehari_copy(char *into, size_t room, mehari_text text)
{
  if (text.length >= room)
    return false;
  memcpy(into, text.at, text.length);
  into[text.length] = '\0';
  return true;
}
#define MEHARI_COPY(array, text) mehari_copy(array, MEHARI_ROOM(array), text)

/* Copies bytes. memcpy must not get a null pointer, even with length 0, but an empty text may have
 * a null pointer. */
static inline void mehari_bytes(void *into, const void *from, size_t length)
{
  if (length)
    memcpy(into, from, length);
}

/* Like snprintf, but returns the length that was written. */
static inline STRLEN mehari_format(char *into, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline STRLEN mehari_format(char *into, size_t room, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(into, room, format, arguments);
  va_end(arguments);
  return length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}
#define MEHARI_FORMAT(array, ...) mehari_format(array, MEHARI_ROOM(array), __VA_ARGS__)

#endif
