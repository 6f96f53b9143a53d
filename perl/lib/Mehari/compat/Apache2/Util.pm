package Apache2::Util;

# Writes times and paths as HTTP needs them.

use strict;
use warnings;
use POSIX ();

# ht_time($pool, $time, $format, $gmt)
sub ht_time {
    my ($pool, $time, $format, $gmt) = @_;
    $time   = time unless defined $time;
    $format = '%a, %d %b %Y %H:%M:%S %Z' unless defined $format;
    $gmt    = 1 unless defined $gmt;
    # The names in an HTTP date are English in every locale, and strftime has no GMT.
    my @parts = $gmt ? gmtime $time : localtime $time;
    $format =~ s/%Z/GMT/g if $gmt;
    $format =~ s/%a/(qw(Sun Mon Tue Wed Thu Fri Sat))[$parts[6]]/ge;
    $format =~ s/%b/(qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec))[$parts[4]]/ge;
    return POSIX::strftime($format, @parts);
}

# escape_path($path, $pool, $partial) writes a path with % codes. A colon in the first segment would
# look like the end of a scheme, so `./` comes before such a path unless $partial is true.
sub escape_path {
    my ($path, $pool, $partial) = @_;
    $partial = 1 unless defined $partial;
    my $prefix = !$partial && $path =~ m{\A[^/]*:} ? './' : '';
    utf8::encode($path) if utf8::is_utf8($path);
    $path =~ s{([^A-Za-z0-9\$\-_.+!*'(),:;\@&=/~])}{sprintf '%%%02x', ord $1}ge;
    return $prefix . $path;
}

1;

__END__

=head1 NAME

Apache2::Util - times and paths as HTTP writes them

=head1 SYNOPSIS

    use Apache2::Util ();
    my $date = Apache2::Util::ht_time(undef, time);
    my $path = Apache2::Util::escape_path('a b/c?', undef);

=head1 DESCRIPTION

The functions take a pool, as in mod_perl, and do not use it.

=head1 FUNCTIONS

=over 4

=item ht_time(POOL, [TIME, [FORMAT, [GMT]]])

Returns a time as text. TIME is in seconds since 1970 and defaults to now. FORMAT is a format of
strftime and defaults to the format of HTTP. If GMT is false, the text is in local time. The names
of days and months are English.

=item escape_path(PATH, POOL, [PARTIAL])

Returns the path with C<%> codes. If PARTIAL is false and the first segment has a colon, the result
begins with C<./>.

=back

=head1 SEE ALSO

L<Apache2::URI>, L<APR::Date>.

=cut
