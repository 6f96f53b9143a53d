# Compares app.psgi's answers with the PSGI specification: three elements, streaming, unknown pages.
use strict;
use warnings;
use FindBin;
use Test::More;

my $application = do "$FindBin::Bin/../app.psgi" or die $@ || $!;
is ref $application, 'CODE', 'the file\'s last value is a subroutine';

sub ask { return $application->({REQUEST_METHOD => 'GET', SCRIPT_NAME => '/psgi', PATH_INFO => $_[0], HTTP_COOKIE => 'secret=1', HTTP_HOST => '<b>'}) }

my $overview = ask('/');
is $overview->[0], 200, 'the overview answers';
like join('', @{$overview->[2]}), qr/HTTP_HOST.*&lt;b&gt;/s, '... with what it was told, escaped';
unlike join('', @{$overview->[2]}), qr/secret=1/, '... and without the visitor\'s cookies';
is_deeply ask('')->[1][1], '/psgi/', 'without the slash it redirects';
my $hello = ask('/hello');
is {@{$hello->[1]}}->{'Content-Length'}, length join('', @{$hello->[2]}), 'a length is the body\'s';
is ask('/none')->[0], 404, 'an unknown page is 404';

my @written;
{
    package Writer;
    sub write { push @written, $_[1] }
    sub close { push @written, 'closed' }
}
ask('/stream')->(sub { is $_[0][0], 200, 'the stream has a status'; is scalar @{$_[0]}, 2, '... and no body yet'; return bless [], 'Writer' });
is_deeply \@written, [(map { "line $_ of 5\n" } 1 .. 5), 'closed'], '... then comes in lines, and ends';

done_testing;
