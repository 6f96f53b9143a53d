package APR::Error;

# Is the exception that functions of the API throw: a number, its text, and the place of the call.

use strict;
use warnings;
use Carp ();

our $VERSION = '0.009000';

use overload
    'bool'   => sub { 1 },
    '""'     => sub { $_[0]->str },
    '0+'     => sub { $_[0]->num },
    '=='     => sub { $_[0]{rc} == (ref $_[1] && eval { $_[1]->isa(__PACKAGE__) } ? $_[1]{rc} : $_[1]) },
    '!='     => sub { !($_[0] == $_[1]) },
    nomethod => sub { Carp::croak(__PACKAGE__ . ": Can't handle '$_[3]'") };

# The texts of APR's own numbers. Numbers below 20000 are the system's error numbers.
my %TEXT = (
    20001 => 'Could not perform a stat on the file.',
    20002 => 'A new pool could not be created.',
    20004 => 'An invalid date has been provided',
    20005 => 'An invalid socket was returned',
    20014 => 'Internal error (specific information not available)',
    20016 => 'The specified IP address is invalid.',
    20017 => 'The specified network mask is invalid.',
    20020 => 'The given path is absolute',
    20021 => 'The given path is relative',
    20022 => 'The given path is incomplete',
    20023 => 'The given path was above the root path',
    20024 => 'The given path is misformatted or contained invalid characters',
    20025 => 'The given path contained wildcard characters',
    70007 => 'The timeout specified has expired',
    70008 => 'Partial results are valid but processing is incomplete',
    70014 => 'End of file found',
    70023 => 'This function has not been implemented on this platform',
    70024 => 'passwords do not match',
    70025 => 'The given lock was busy.',
    120000 => 'exit was called',
);

sub new {
    my ($class, %fields) = @_;
    return bless \%fields, $class;
}

sub strerror {
    my ($number) = @_;
    return $TEXT{$number} || 'Error string not specified yet' if $number >= 20000;
    return 'Success' if $number == 0;
    local $! = $number;
    return "$!";
}

sub str {
    my ($self) = @_;
    return sprintf '%s: (%d) %s at %s line %d', map { defined ? $_ : '' } $self->{func}, $self->{rc}, strerror($self->{rc}), $self->{file}, $self->{line};
}

sub num { return $_[0]{rc} }

# Dies with an exception that names the function, and the first caller outside of the API as the
# place.
sub throw {
    my ($number, $function) = @_;
    my $level = 0;
    # Scripts of Registry are in packages below ModPerl::ROOT.
    $level++ while (caller $level)[0] =~ /\A(?:APR|Apache2|ModPerl|Mehari)(?:::(?!ROOT::)|\z)/ && caller $level + 1;
    my (undef, $file, $line) = caller $level;
    die __PACKAGE__->new(rc => $number + 0, func => $function, file => $file, line => $line);
}

sub cluck { my $self = shift; return Carp::cluck("$self") }

sub confess { my $self = shift; Carp::confess("$self") }

1;

__END__

=head1 NAME

APR::Error - the exception of the interface

=head1 SYNOPSIS

    use APR::Error ();
    use APR::Const -compile => qw(ENOENT);
    use APR::Finfo ();
    eval { APR::Finfo::stat('/no/such/file', 0, undef) };
    print "not there\n" if ref $@ && $@ == APR::Const::ENOENT;

=head1 DESCRIPTION

As a string, an object is its text (C<str>). With C<==> and C<!=>, an object is its number. As a
condition, an object is true. Other operators die. An object has the keys C<rc>, C<func>, C<file>
and C<line>.

=head1 METHODS

=over 4

=item new(rc => NUMBER, func => NAME, file => FILE, line => NUMBER)

Makes an exception.

=item str

Returns the function, the number, the number's text and the place, as one line.

=item num

Returns the number.

=item cluck, confess

Warn or die with a stack trace.

=back

=head1 FUNCTIONS

=over 4

=item strerror(NUMBER)

Returns the text of an error number of the system or of APR.

=item throw(NUMBER, FUNCTION)

Dies with a new exception. The place in the exception is the first caller outside of the interface.

=back

=head1 DIFFERENCES

The text of a rare number of APR is C<Error string not specified yet>.

=head1 SEE ALSO

L<APR::Status>, L<APR::Const>, L<APR::Request::Error>.

=cut
