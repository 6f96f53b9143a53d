package Apache2::Cookie;

# libapreq2's cookies: `Apache2::Cookie->new($r, -name => 'id', -value => 1)->bake($r)`.

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

# The value, or values, as given to new. A new value replaces them.
sub value {
    my $self = shift;
    return $self->thaw unless @_;
    $self->{value} = $self->freeze(@_ == 1 ? $_[0] : [@_]);
    return;
}

sub raw_value { return $_[0]{value} }

# fetch($r): the cookies received, by name.
sub fetch {
    my ($class, $r) = @_;
    $r = Apache2::RequestUtil->request unless ref $r;
    my %cookies = map { $_->name => $_ } reverse Apache2::Cookie::Jar->new($r)->_all($class);
    return wantarray ? %cookies : \%cookies;
}

# Parses a Cookie or Set-Cookie line: the cookies by name.
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

# cookies($name): this cookie, or all of this name in list context. Without a name: the names, or
# all cookies by name.
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

The class is a L<APR::Request::Cookie>, which has the methods of the attributes.

=head1 METHODS

=over 4

=item new(R, -name => NAME, -value => VALUE, -ATTRIBUTE => VALUE ...)

Makes a cookie. The value is a text, or a reference to an array or a hash. Dies without a name.

=item fetch([R])

A class method: the received cookies by name, as a list or as a hash reference. The first of
several with one name counts.

=item parse(LINE)

A class method: the cookies of a field's text by name.

=item value([VALUES])

The decoded value, or all values in list context. New values replace it.

=item raw_value

The value as it is sent.

=item freeze(VALUE), thaw([TEXT])

Encode values as a text, and decode them.

=back

=head1 METHODS OF THE JAR

Apache2::Cookie::Jar holds the received cookies.

=over 4

=item new(R, [VALUE_CLASS => CLASS])

Makes a jar.

=item cookies([NAME])

The cookie of a name, or all of them in list context. Without a name, the names, or in scalar
context a hash reference.

=item status

Always 0.

=back

=head1 SEE ALSO

L<APR::Request::Cookie>, L<Apache2::Request>, L<Apache::Cookie>.

=cut
