package Apache2::Cookie;

# Provides libapreq2's cookies: `Apache2::Cookie->new($r, -name => 'id', -value => 1)->bake($r)`.

use strict;
use warnings;
use APR::Request         ();
use APR::Request::Cookie ();
use Apache2::RequestUtil ();

our $VERSION = '2.17';
our @ISA     = ('APR::Request::Cookie');

# new($r, -name => ..., -value => scalar, array or hash, -expires => '+1h', ...)
sub new {
    my ($class, $r, %given) = @_;
    my $self = $class->_make(map { (lc($_) =~ s/\A-//r =~ tr/-/_/r) => $given{$_} } keys %given);
    $self->{r} = $r;
    return $self;
}

sub freeze {
    my ($class, $value) = @_;
    my @values = ref $value eq 'ARRAY' ? @$value : ref $value eq 'HASH' ? %$value : $value;
    return join '&', map { APR::Request::encode(defined $_ ? $_ : '') } @values;
}

sub thaw {
    my ($self) = @_;
    my @values = map { APR::Request::decode($_) } split /&/, ref $self ? $self->{value} =~ s/\A"(.*)"\z/$1/r : $_[1], -1;
    return wantarray ? @values : $values[0];
}

# Returns the value, or all values in list context, as they were given to new. Arguments replace the
# values.
sub value {
    my $self = shift;
    return $self->thaw unless @_;
    $self->{value} = $self->freeze(@_ == 1 ? $_[0] : [@_]);
    return;
}

sub raw_value { return $_[0]{value} }

# fetch($r) returns the cookies that the client sent, by name.
sub fetch {
    my ($class, $r) = @_;
    $r = Apache2::RequestUtil->request unless ref $r;
    my %cookies = map { $_->name => $_ } reverse Apache2::Cookie::Jar->new($r)->_all($class);
    return wantarray ? %cookies : \%cookies;
}

# Parses the value of a field Cookie or Set-Cookie. Returns the cookies by name.
sub parse {
    my ($class, $line) = @_;
    my %cookies = map { /\A\s*([^=\s]+)\s*=\s*(.*?)\s*\z/s ? ($1 => bless { name => $1, value => $2 }, $class) : () } split /[;,]/, $line;
    return wantarray ? %cookies : \%cookies;
}

package Apache2::Cookie::Jar;

use strict;
use warnings;

# new($r, VALUE_CLASS => class)
sub new {
    my ($class, $r, %option) = @_;
    return bless { r => $r, class => $option{VALUE_CLASS} || 'Apache2::Cookie' }, $class;
}

sub _all {
    my ($self, $class) = @_;
    my @all;
    APR::Request::Cookie::jar_of($self->{r})->do(sub {
        push @all, bless { name => $_[0], value => $_[1], r => $self->{r} }, $class || $self->{class};
        return 1;
    });
    return @all;
}

# cookies($name) returns the first cookie of this name, or all of them in list context. Without a
# name, it returns all cookies by name, or the names in list context.
sub cookies {
    my ($self, @name) = @_;
    my @all = $self->_all;
    if (@name) {
        my @named = grep { lc $_->name eq lc $name[0] } @all;
        return wantarray ? @named : $named[0];
    }
    my %seen;
    return wantarray ? map { $_->name } grep { !$seen{ $_->name }++ } @all : { map { $_->name => $_ } reverse @all };
}

sub status { return 0 }

1;

__END__

=head1 NAME

Apache2::Cookie - libapreq2's cookies

=head1 SYNOPSIS

    use Apache2::Cookie ();

    sub handler {
        my $r = shift;
        my %cookies = Apache2::Cookie->fetch($r);
        my $visits = $cookies{visits} ? $cookies{visits}->value : 0;
        my $cookie = Apache2::Cookie->new($r, -name => 'visits', -value => $visits + 1,
            -expires => '+3M', -httponly => 1);
        $cookie->bake($r);
        return 0;
    }

=head1 DESCRIPTION

The class is an L<APR::Request::Cookie>, which has a method for each attribute.

=head1 METHODS

=over 4

=item new(R, -name => NAME, -value => VALUE, -ATTRIBUTE => VALUE ...)

Makes a cookie. The value is a text, or a reference to an array or a hash. Dies without a name.

=item fetch([R])

A class method. Returns the cookies that the client sent, by name, as a list or as a hash reference.
If several cookies have the same name, it returns the first of them.

=item parse(LINE)

A class method. Returns the cookies in a field's value, by name.

=item value([VALUES])

Returns the decoded value, or all values in list context. VALUES replace the old values.

=item raw_value

Returns the value in the form in which it is sent.

=item freeze(VALUE), thaw([TEXT])

C<freeze> encodes values as a text. C<thaw> decodes a text of C<freeze>.

=back

=head1 METHODS OF THE JAR

An Apache2::Cookie::Jar holds the cookies that the client sent.

=over 4

=item new(R, [VALUE_CLASS => CLASS])

Makes a jar.

=item cookies([NAME])

Returns the first cookie with this NAME, or all of them in list context. Without a NAME, it returns
the names in list context, else a hash reference.

=item status

Always 0.

=back

=head1 SEE ALSO

L<APR::Request::Cookie>, L<Apache2::Request>, L<Apache::Cookie>.

=cut
