package APR::String;

# Writes a size as a text of four characters.

use strict;
use warnings;

sub format_size {
    my ($size) = @_;
    return '  - ' if $size < 0;
    return sprintf '%3d ', $size if $size < 973;
    for my $unit (qw(K M G T P E)) {
        my $rest = $size % 1024;
        $size = int $size / 1024;
        next if $size >= 973;
        if ($size < 9 || $size == 9 && $rest < 973) {
            my $tenths = int(($rest * 5 + 256) / 512);
            return $tenths >= 10 ? sprintf '%d.0%s', $size + 1, $unit : sprintf '%d.%d%s', $size, $tenths, $unit;
        }
        return sprintf '%3d%s', $size + ($rest >= 512), $unit;
    }
    return '****';
}

1;

__END__

=head1 NAME

APR::String - sizes as text of four characters

=head1 SYNOPSIS

    use APR::String ();
    print APR::String::format_size(1_048_576);    # 1.0M

=head1 DESCRIPTION

Listings of folders use such texts in a column of fixed width.

=head1 FUNCTIONS

=over 4

=item format_size(BYTES)

Returns a text such as C< 42 >, C<1.0K> or C< 27M>. For a negative size it returns C<  - >.

=back

=head1 DIFFERENCES

None is known.

=head1 SEE ALSO

L<APR::Util>.

=cut
