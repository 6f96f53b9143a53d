package APR::Util;

# File names and passwords.

use strict;
use warnings;
use Digest::MD5 ();
use Digest::SHA ();
use APR::Error  ();

sub filepath_name_get { return $_[0] =~ m{([^/]*)\z} ? $1 : $_[0] }

# True if the hash was made of the password: htpasswd's {SHA} and $apr1$, and the formats of
# crypt(3).
sub password_validate {
    my ($password, $hash) = @_;
    return _equal('{SHA}' . Digest::SHA::sha1_base64($password) . '=', $hash) if $hash =~ /\A\{SHA\}/;
    return _equal(_apr1($password, $1), $hash) if $hash =~ /\A\$apr1\$([^\$]{0,8})\$/;
    my $made = crypt $password, $hash =~ s/\A\$2y\$/\$2b\$/r;
    return _equal(defined $made ? $made : '', $hash =~ s/\A\$2y\$/\$2b\$/r);
}

# Compares in constant time.
sub _equal {
    my ($one, $other) = @_;
    return 0 unless length $one == length $other;
    return ($one ^ $other) =~ /[^\0]/ ? 0 : 1;
}

my @DIGITS = ('.', '/', 0 .. 9, 'A' .. 'Z', 'a' .. 'z');

# Apache's variant of the MD5 crypt, with a thousand rounds.
sub _apr1 {
    my ($password, $salt) = @_;
    my $text  = "$password\$apr1\$$salt";
    my $inner = Digest::MD5::md5($password, $salt, $password);
    for (my $left = length $password; $left > 0; $left -= 16) { $text .= substr $inner, 0, $left > 16 ? 16 : $left }
    for (my $bits = length $password; $bits; $bits >>= 1) { $text .= $bits & 1 ? "\0" : substr $password, 0, 1 }
    my $sum = Digest::MD5::md5($text);
    for my $round (0 .. 999) {
        my $next = $round % 2 ? $password : $sum;
        $next .= $salt     if $round % 3;
        $next .= $password if $round % 7;
        $next .= $round % 2 ? $sum : $password;
        $sum = Digest::MD5::md5($next);
    }
    my $printed = '';
    for my $three ([0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5], [11]) {
        my $value = 0;
        $value = $value << 8 | ord substr $sum, $_, 1 for @$three;
        for (1 .. @$three + 1) { $printed .= $DIGITS[$value & 63]; $value >>= 6 }
    }
    return "\$apr1\$$salt\$$printed";
}

# Asks on the terminal, which a worker does not have.
sub password_get { die "APR::Util::password_get: a worker has no terminal to ask on; read the password from a file or the environment\n" }

1;

__END__

=head1 NAME

APR::Util - file names and passwords

=head1 SYNOPSIS

    use APR::Util ();
    my $hash = '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=';
    print "right\n" if APR::Util::password_validate('password', $hash);

=head1 DESCRIPTION

The functions are called with their whole names.

=head1 FUNCTIONS

=over 4

=item password_validate(PASSWORD, HASH)

Whether the hash was made of the password: C<{SHA}>, C<$apr1$>, and the formats of crypt(3),
bcrypt among them where the system has it. The comparison takes the same time for every hash of
a length.

=item filepath_name_get(PATH)

The last part of a path.

=item password_get

Dies: a worker has no terminal.

=back

=head1 DIFFERENCES

C<password_validate> takes two arguments and returns true or false.

=head1 SEE ALSO

L<APR::String>, L<Apache2::Access>.

=cut
