package Apache2::RequestRec;

# `$r`. The common methods are XS (Mehari.xs, xs/api). This module adds the rest, and finds methods
# whose modules are not loaded yet.

use strict;
use warnings;
use Mehari ();

our $AUTOLOAD;

my %NUMBER;
@NUMBER{qw(GET PUT POST DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK)} = 0 .. 14;
$NUMBER{HEAD} = 0;

sub method_number {
    my $self = shift;
    my $old  = $NUMBER{ $self->method } // 26;
    $self->_slots->{method_number} = $_[0] if @_;
    return $self->_slots->{method_number} // $old;
}

# 1001 for HTTP/1.1
sub proto_num { my ($self) = @_; return $self->protocol =~ m{HTTP/(\d+)(?:\.(\d+))?} ? $1 * 1000 + ($2 || 0) : 1000 }

sub request_time { my ($self) = @_; return $self->_slots->{request_time} //= time }

sub finfo {
    my $self = shift;
    require APR::Finfo;
    my $slots = $self->_slots;
    my $old   = $slots->{finfo} || APR::Finfo->of_file($self->filename);
    $slots->{finfo} = $_[0] if @_;
    return $old;
}

sub content_languages {
    my $self = shift;
    my $old  = $self->_slots->{content_languages};
    if (@_) {
        ref $_[0] eq 'ARRAY' or do { require Carp; Carp::croak('Not an array reference') };
        $self->_slots->{content_languages} = $_[0];
        $self->headers_out->set('Content-Language' => join ',', @{ $_[0] || [] });
    }
    return $old;
}

sub useragent_ip   { my ($self) = @_; return $self->client_ip }
sub useragent_addr { my ($self) = @_; return $self->connection->client_addr }

# Storage for Apache's C modules, which do not exist here.
sub request_config { return undef }
sub per_dir_config { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }

sub allowed_methods  { my ($self) = @_; return $self->allowed }
sub allowed_xmethods { return undef }

sub TIEHANDLE { my ($class, $self) = @_; return ref $class ? $class : $self }
sub READ { my $self = shift; $self->read(@_) }

# The object holds only a number, so nothing has to be freed.
sub DESTROY { return }

# The filters of the request, the first one first. Those of the protocol follow Perl's.
sub input_filters        { return _place($_[0], 'input',  0) }
sub output_filters       { return _place($_[0], 'output', 0) }
sub proto_input_filters  { return _place($_[0], 'input',  9**9) }
sub proto_output_filters { return _place($_[0], 'output', 9**9) }
sub _place { my ($self, $way, $number) = @_; require Apache2::Filter::Place; return Apache2::Filter::Place->of($self, $way, $number) }

# Loads the module of a method, as if the configuration had named the module.
sub AUTOLOAD {
    my ($name) = $AUTOLOAD =~ /([^:]+)\z/;
    require ModPerl::MethodLookup;
    my $module = ModPerl::MethodLookup::module_of($name, qr/\AApache2::(?!Server|Connection|Directive|Filter\z|Module|CmdParms|Command|Process)/);
    if ($module) {
        require(($module =~ s{::}{/}gr) . '.pm');
        my $code = __PACKAGE__->can($name);
        goto &$code if $code && $code != \&AUTOLOAD;
    }
    require Carp;
    my $class = ref $_[0] || $_[0];
    Carp::croak(qq{Can't locate object method "$name" via package "$class"});
}

1;
