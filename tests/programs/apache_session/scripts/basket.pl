#!/usr/bin/perl
# A shopping basket kept by Apache::Session, its id in a cookie: file, database (SQLite by Flex) by
# the name `store`.
use strict;
use warnings;
use CGI ();
use Apache::Session::File;
use Apache::Session::Flex;

my $q      = CGI->new;
my $folder = $ENV{SESSIONS};
my %file   = (Directory => $folder, LockDirectory => $folder);
my %stores = (
    file => ['Apache::Session::File', \%file],
    flex => ['Apache::Session::Flex', { Store => 'File', Lock => 'File', Generate => 'MD5', Serialize => 'Base64', %file }],
);
my ($class, $arguments) = @{ $stores{ $q->param('store') || 'file' } || $stores{file} };

my $id = $q->cookie('basket');
my %session;
eval { tie %session, $class, $id, {%$arguments} };
if ($@) {
    die $@ unless $@ =~ /does not exist/;
    tie %session, $class, undef, {%$arguments};
}
my $items = $session{items} || [];
push @$items, $q->param('add') if defined $q->param('add');
$session{items} = $items;
$session{visits}++;
my $cookie = $q->cookie(-name => 'basket', -value => $session{_session_id}, -path => '/');
print $q->header(-type => 'text/plain', -cookie => $cookie);
print "visit $session{visits}: ", join(', ', @$items), "\n";
tied(%session)->delete if $q->param('leave');
untie %session;
