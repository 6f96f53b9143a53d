package Apache::Util;

# Provides mod_perl 1's functions for text and time.

use strict;
use warnings;
use Apache ();
use Exporter 'import';
use Apache2::Util ();
use APR::Date   ();
use APR::Util   ();

our @EXPORT_OK   = qw(escape_html escape_uri unescape_uri unescape_uri_info ht_time parsedate size_string validate_password);
our %EXPORT_TAGS = (all => \@EXPORT_OK);

my %ENTITY = ('<' => '&lt;', '>' => '&gt;', '&' => '&amp;', '"' => '&quot;');

sub escape_html { my ($text) = @_; $text =~ s/([<>&"])/$ENTITY{$1}/g; return $text }

sub escape_uri { return Apache2::Util::escape_path($_[0], undef, 1) }

sub unescape_uri { my ($text) = @_; $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge; return $text }

sub unescape_uri_info { my ($text) = @_; $text =~ tr/+/ /; return unescape_uri($text) }

# ht_time($time, $format, $gmt)
sub ht_time { return Apache2::Util::ht_time(undef, @_) }

sub parsedate { return APR::Date::parse_http($_[0]) }

# Returns a size as mod_perl 1 writes it: four characters and a unit, such as '   2k' and ' 5.0M'.
sub size_string {
    my ($size) = @_;
    return '   0k' unless $size;
    return '    -' if $size == -1;
    return '   1k' if $size < 1024;
    return sprintf '%4dk', ($size + 512) / 1024 if $size < 1024 ** 2;
    return sprintf $size < 103_809_024 ? '%4.1fM' : '%4.0fM', $size / 1024 ** 2;
}

sub validate_password { return APR::Util::password_validate(@_) }

1;

__END__

=head1 NAME

Apache::Util - mod_perl 1's functions for text and time

=head1 SYNOPSIS

    use Apache::Util qw(escape_html ht_time);
    print escape_html('<a>'), ' ', ht_time(time);

=head1 DESCRIPTION

C<use> exports the functions that its words name. C<:all> exports all functions.

=head1 FUNCTIONS

=over 4

=item escape_html(TEXT)

Returns the text with C<< < >>, C<< > >>, C<&> and C<"> written as entities.

=item escape_uri(TEXT), unescape_uri(TEXT), unescape_uri_info(TEXT)

C<escape_uri> returns the text with C<%> codes. The other two functions decode a text with C<%>
codes. C<unescape_uri_info> also decodes C<+> as a blank.

=item ht_time([TIME, [FORMAT, [GMT]]])

Does the same as C<ht_time> of L<Apache2::Util>, but takes no pool.

=item parsedate(TEXT)

Returns a date of HTTP as seconds since 1970.

=item size_string(BYTES)

Returns a size as a text of four characters and a unit.

=item validate_password(PASSWORD, HASH)

Returns whether the hash belongs to the password.

=back

=head1 DIFFERENCES

None is known.

=head1 SEE ALSO

L<Apache2::Util>, L<APR::Date>, L<APR::Util>.

=cut
