package APR::Date;

# Converts dates of HTTP and mail to seconds since 1970. The result for an invalid date is 0.

use strict;
use warnings;
use Time::Local ();

my %MONTH;
@MONTH{qw(jan feb mar apr may jun jul aug sep oct nov dec)} = 0 .. 11;
my %ZONE = (ut => 0, utc => 0, gmt => 0, z => 0, est => -5, edt => -4, cst => -6, cdt => -5, mst => -7, mdt => -6, pst => -8, pdt => -7);

my $DAY   = qr/(?:[A-Za-z]+,?\s+)?/;
my $CLOCK = qr/(\d\d?):(\d\d)(?::(\d\d))?/;

# Reads the three forms of RFC 9110: IMF-fixdate, RFC 850, asctime.
sub parse_http {
    my ($text) = @_;
    return 0 unless defined $text;
    return _seconds($3, $2, $1, $4, $5, $6) if $text =~ /\A\s*$DAY(\d\d?)[ -]([A-Za-z]{3})[ -](\d{2,4})\s+$CLOCK/;
    return _seconds($6, $1, $2, $3, $4, $5) if $text =~ /\A\s*[A-Za-z]{3}\s+([A-Za-z]{3})\s+(\d\d?)\s+$CLOCK\s+(\d{4})/;
    return 0;
}

# Reads the forms of parse_http, and the forms of dates in mail, which have a time zone.
sub parse_rfc {
    my ($text) = @_;
    my $seconds = parse_http($text) or return 0;
    # A time without seconds is valid only with a time zone.
    return 0 if $text =~ /\A[^:]*:\d\d\s*\z/;
    my ($zone) = $text =~ /:\d\d\s+([-+]\d{4}|[A-Za-z]+)\s*\z/ or return $seconds;
    return $seconds - ($1 eq '-' ? -1 : 1) * ($2 * 3600 + $3 * 60) if $zone =~ /\A([-+])(\d\d)(\d\d)\z/;
    return $seconds - 3600 * ($ZONE{ lc $zone } // 0);
}

sub _seconds {
    my ($year, $month, $day, $hour, $minute, $second) = @_;
    $month = $MONTH{ lc $month };
    return 0 unless defined $month;
    $year += $year < 70 ? 2000 : 1900 if $year < 100;
    return eval { Time::Local::timegm($second || 0, $minute, $hour, $day, $month, $year) } || 0;
}

1;

__END__

=head1 NAME

APR::Date - dates as seconds

=head1 SYNOPSIS

    use APR::Date ();
    my $seconds = APR::Date::parse_http('Sun, 06 Nov 1994 08:49:37 GMT');    # 784111777

=head1 DESCRIPTION

The functions return seconds since 1970.

=head1 FUNCTIONS

=over 4

=item parse_http(TEXT)

Reads a date in any of HTTP's three forms. Returns 0 if the text is no date.

=item parse_rfc(TEXT)

Does the same as C<parse_http>, and also reads dates in the form of mail, which have a time zone.

=back

=head1 SEE ALSO

L<Apache2::Util>.

=cut
