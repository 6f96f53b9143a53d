package APR::Util;

# Checks passwords against hashes, and takes file names from paths.

use strict;
use warnings;
use Digest::MD5 ();
use Digest::SHA ();
use APR::Error  ();

sub filepath_name_get { return $_[0] =~ m{([^/]*)\z} ? $1 : $_[0] }

# Returns whether the hash belongs to the password. Supports htpasswd's {SHA} and $apr1$, and the
# formats of crypt(3).
sub password_validate {
    my ($password, $hash) = @_;
    return _equal('{SHA}' . Digest::SHA::sha1_base64($password) . '=', $hash) if $hash =~ /\A\{SHA\}/;
    return _equal(_apr1($password, $1), $hash) if $hash =~ /\A\$apr1\$([^\$]{0,8})\$/;
    my $made = crypt $password, $hash =~ s/\A\$2y\$/\$2b\$/r;
    return _equal(defined $made ? $made : '', $hash =~ s/\A\$2y\$/\$2b\$/r);
}

# Compares two texts. The time does not depend on where the texts differ.
sub _equal {
    my ($one, $other) = @_;
    return 0 unless length $one == length $other;
    return ($one ^ $other) =~ /[^\0]/ ? 0 : 1;
}

my @DIGITS = ('.', '/', 0 .. 9, 'A' .. 'Z', 'a' .. 'z');

# Returns the hash in Apache's variant of the MD5 crypt, which has a thousand rounds.
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

# In APR it asks for a password on the terminal. A worker has no terminal, so it dies.
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

Call the functions by their full names: the module exports nothing.

=head1 FUNCTIONS

=over 4

=item password_validate(PASSWORD, HASH)

Returns whether the hash belongs to the password. The hash has the format C<{SHA}>, C<$apr1$>, or a
format of the system's crypt(3), which may include bcrypt. The time of the comparison does not
depend on where the hashes differ.

=item filepath_name_get(PATH)

Returns the last part of a path.

=item password_get

Dies, because the server's Perl processes have no terminal.

=back

=head1 DIFFERENCES

C<password_validate> returns true or false, and not a status as in C.

=head1 SEE ALSO

L<APR::String>, L<Apache2::Access>.

=cut
