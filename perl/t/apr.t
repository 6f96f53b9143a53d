# Tests APR's small modules. This file also passes with mod_perl's own modules: `perl -MAPR
# t/apr.t`.

use strict;
use warnings;
use Test::More;
use APR::Base64 ();
use APR::Const -compile => qw(:error FILETYPE_REG FINFO_NORM);
use APR::Date   ();
use APR::Error  ();
use APR::Finfo  ();
use APR::Pool   ();
use APR::Status ();
use APR::String ();
use APR::URI    ();
use APR::UUID   ();
use APR::Util   ();

my $pool = APR::Pool->new;

is(join('|', map { APR::String::format_size($_) } 0, 1, 972, 973, 1024, 1536, 9000, 10000, 10240, 1048576, 5e9), '  0 |  1 |972 |1.0K|1.0K|1.5K|8.8K|9.8K| 10K|1.0M|4.7G', 'sizes');

is(APR::Base64::encode('x' x 6), 'eHh4eHh4', 'base64');
is(APR::Base64::decode('eHg='),  'xx',       'base64 is decoded');

is(APR::Date::parse_http($_), 784111777, $_) for 'Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994';
is(APR::Date::parse_http('garbage'), 0, 'a text that is no date gives 0');

my $uri = APR::URI->parse($pool, 'http://user:pw@host.x:8080/a/b?q=1#frag');
is_deeply([map { $uri->$_ } qw(scheme hostinfo user password hostname port path query fragment rpath)],
    ['http', 'user:pw@host.x:8080', 'user', 'pw', 'host.x', 8080, '/a/b', 'q=1', 'frag', '/a/b'], 'parts of a URI');
is($uri->path('/x'), '/a/b', 'a setter returns the old value');
is($uri->path,       '/x',   'a setter sets the value');
my $local = APR::URI->parse($pool, '/p?x=1');
is_deeply([map { $local->$_ } qw(scheme hostname port path query)], [undef, undef, undef, '/p', 'x=1'], 'parts that are missing');
$local->scheme('https'), $local->hostname('h'), $local->port(443);
is($local->unparse, 'https://h/p?x=1', 'unparse leaves the usual port out');
is(APR::URI::port_of_scheme('https'), 443, 'port_of_scheme');

my $uuid = APR::UUID->new->format;
like($uuid, qr/\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\z/, 'a UUID');
is(APR::UUID->parse($uuid)->format, $uuid, 'parsed');

my $finfo = APR::Finfo::stat($0, APR::Const::FINFO_NORM, $pool);
my @stat = stat $0;
is_deeply([map { $finfo->$_ } qw(fname filetype size mtime inode device nlink user group)], [$0, APR::Const::FILETYPE_REG, @stat[7, 9, 1, 0, 3, 4, 5]], 'finfo');
is($finfo->protection, hex sprintf('%o', $stat[2] & 0777), 'protection has a hexadecimal digit each for owner, group and others');
ok(!eval { APR::Finfo::stat('/none', APR::Const::FINFO_NORM, $pool); 1 }, 'a missing file is refused');
my $error = $@;
isa_ok($error, 'APR::Error');
ok($error == APR::Const::ENOENT && $error != APR::Const::EACCES, 'an error compares with a number');
like("$error", qr/\(2\) No such file or directory at \Q$0\E line \d+/, 'an error names its place');
ok(APR::Status::is_ENOENT($error) && !APR::Status::is_EACCES($error), 'APR::Status');

is(APR::Util::filepath_name_get('/a/b/c.txt'), 'c.txt', 'file name');
for my $hash ('{SHA}Et6pb+wgWTVmq3VpLJlJWWgzrck=', '$apr1$Go.5Wtz2$w9j/hMhEqHPm0gAbNjM7L.') {
    ok(!eval { APR::Util::password_validate('wrong', $hash) }, "wrong password for $hash");
}

{
    my @called;
    my $own = APR::Pool->new;
    $own->cleanup_register(sub { push @called, "first $_[0]" }, 'argument');
    $own->cleanup_register(sub { push @called, 'second' });
    my $child = $own->new;
    $child->cleanup_register(sub { push @called, 'child' });
    ok($own->is_ancestor($child) && !$child->is_ancestor($own), 'ancestor');
    undef $child;
    is("@called", 'child', 'a pool ends with its object');
    undef $own;
    is("@called", 'child second first argument', 'cleanups run in reverse');
}

done_testing();
