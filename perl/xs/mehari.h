/* Included by every file of the Perl side: perl, a text type, bounded access. The header of a
 * folder declares what the folder offers to others.
 *
 * A worker has one interpreter and one thread and serves one request at a time, so the state of
 * the current request is global on purpose. No Perl exception crosses a function that our
 * headers declare, unless the header says so. */
#ifndef MEHARI_H
#define MEHARI_H

#define PERL_NO_GET_CONTEXT
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
#include <perliol.h>
/* What newer perls declare, for older ones. `perl -MDevel::PPPort -e Devel::PPPort::WriteFile`
 * of Devel::PPPort 3.73 wrote the file; its lone `#` lines were removed, then `perl ppport.h
 * --strip` ran. Its terms are perl's own. */
#include "ppport.h"
#include <stdbool.h>

#define MEHARI_RELEASE "0.1.0"

typedef struct {
  const char *at;
  STRLEN length;
} mehari_text;

#include "bounds.h"

#endif
