#!/usr/bin/perl
# A guestbook: shows the last entries and takes a new one. It runs unchanged on every rung, because
# it keeps nothing between requests. It opens the database for each request, which SQLite does in a
# fraction of a millisecond.
use strict;
use warnings;
use utf8;
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/../lib';
use CGI ();
use Demo::Guestbook ();

my $demo = dirname(__FILE__) . '/..';
local $CGI::POST_MAX        = 32 * 1024;
local $CGI::DISABLE_UPLOADS = 1;

my $answer = Demo::Guestbook::answer(CGI->new, "$demo/.data/guestbook.sqlite");
print $answer;
