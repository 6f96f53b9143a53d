package APR::String;

# Sizes as text of four characters.

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
