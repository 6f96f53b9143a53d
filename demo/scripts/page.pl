#!/usr/bin/perl
# The page that ladder.html measures on every rung: an ordinary script that leaves nothing behind.
# It loads common modules, reads its query, and shows its process and the age of this process.
use strict;
use warnings;
use utf8;
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/../lib';
use CGI   ();
use POSIX ();
use Demo::Page ();

my $form    = CGI->new;
my $visitor = $form->param('visitor') // 'stranger';
utf8::decode($visitor);
$visitor = Demo::Page::escape(substr $visitor, 0, 60);
my $now     = time;
my @facts = (
    ['the script'              => $ENV{SCRIPT_NAME} // $0],
    ['the process that ran it' => $$],
    ['its perl started'        => ($now - $^T) . ' s ago'],
    ['the time'                => POSIX::strftime('%Y-%m-%d %H:%M:%S UTC', gmtime $now)],
    ['GATEWAY_INTERFACE'       => $ENV{GATEWAY_INTERFACE} // 'not set'],
    ['perl'                    => sprintf '%vd', $^V],
);
my $html = Demo::Page::html(
    title   => 'One script, every rung',
    root    => '../',
    content => "<h1>Hello, $visitor.</h1>\n<p>This page comes from a script that does not know on which rung it runs.</p>\n"
        . Demo::Page::table(@facts),
);
utf8::encode($html);
print "Content-Type: text/html; charset=utf-8\nCache-Control: no-store\nX-Process: $$\n\n$html";
