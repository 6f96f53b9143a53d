#!/usr/bin/perl
$q = $ENV{'QUERY_STRING'};
if ($q eq 'local') { print "Location: /plain.txt\n\n"; }
elsif ($q eq 'self') { print "Location: $ENV{SCRIPT_NAME}?shown\n\n"; }
elsif ($q eq 'away') { print "Location: http://example.org/there\n\n"; }
elsif ($q eq 'body') { print "Status: 303 See other\nLocation: http://example.org/\nContent-type: text/html\n\n<a href=x>there</a>\n"; }
elsif ($q eq 'uri') { print "URI: http://example.org/\nContent-type: text/html\n\nsee there\n"; }
elsif ($q eq 'auth') { print "Status: 401 Unauthorized\nWWW-Authenticate: Basic realm=\"x\"\nContent-type: text/html\n\nwho are you\n"; }
elsif ($q eq 'cookie') { print "Set-Cookie: a=1; path=/\nSet-Cookie: b=2\nContent-type: text/html\n\n<META HTTP-EQUIV=refresh content=0>\n"; }
elsif ($q eq 'none') { print "Status: 204 No Content\n\n"; }
elsif ($q eq 'notmod') { print "Status: 304 Not Modified\n\n"; }
elsif ($q eq 'mixed') { print "content-TYPE:text/html\r\nX-One: 1\nX-Two:2\r\n\nmixed line ends\n"; }
elsif ($q eq 'lastmod') { print "Content-type: text/plain\nLast-Modified: Thu, 01 Jan 1998 00:00:00 GMT\n\nold\n"; }
elsif ($q eq 'tagged') { print "Content-type: text/plain\nETag: \"camel\"\nContent-length: 5\n\nsame\n"; }
elsif ($q eq 'numeric') { print "Last-Modified: Thu, 01 Jan 1998 00:00:00 +0000\nContent-type: text/plain\n\nold\n"; }
elsif ($q eq 'future') { print "Content-type: text/plain\nLast-Modified: Thu, 01 Jan 2099 00:00:00 GMT\n\nnew\n"; }
elsif ($q eq 'twice') { print "Content-type: text/html\nContent-type: text/plain\nStatus: 500 x\nStatus: 200 OK\n\ntwo heads\n"; }
else { print "Content-type: text/plain\n\nshown $ENV{REDIRECT_STATUS} $ENV{REDIRECT_URL} $ENV{SCRIPT_NAME}\n"; }
