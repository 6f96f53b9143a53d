#!/usr/bin/perl
print "HTTP/1.0 404 Gone fishing\nContent-type: text/html\nConnection: close\n\n<h1>No such thing: $ENV{'PATH_INFO'}</h1>\n";
