package Apache::Request;

# Provides libapreq 1's request: an `$r` of mod_perl 1 with methods for parameters and uploads.

use strict;
use warnings;
use Apache ();
use Apache2::Request ();
use Apache::Upload   ();

our $VERSION = '1.34';
our @ISA     = qw(Apache2::Request Apache);

# Parses the form. Returns OK, or the status for an invalid form: 413, 403, 400.
sub parse {
    my ($self) = @_;
    my $status = $self->param_status or return 0;
    return APR::Request::Error->new(rc => $status)->http_status;
}

# param($name) returns values. param($name => $value or \@values) sets them. param without a name
# returns the table, or the names in list context.
sub param {
    my ($self, $name, @values) = @_;
    return @_ > 1 ? $self->SUPER::param($name) : $self->SUPER::param unless @values;
    $_->unset($name) for map { $self->_table($_) } 0, 1;
    my $table = $self->_table(0);
    $table->add($name, $_) for ref $values[0] eq 'ARRAY' ? @{ $values[0] } : @values;
    return $self->SUPER::param($name);
}

# Return the table of all parameters, or the values of one parameter: params($name).
sub parms  { my ($self, @name) = @_; return @name ? $self->SUPER::param($name[0]) : scalar $self->SUPER::param }
sub params { my ($self, @name) = @_; return $self->parms(@name) }
sub query_params { my ($self) = @_; return scalar $self->_table(0) }
sub post_params  { my ($self) = @_; return scalar $self->_table(1) }

# Returns what `$r->args` returns, and not the parsed parameters.
sub args { my $self = shift; return Apache::args($self, @_) }

sub upload {
    my ($self, @name) = @_;
    return $self->SUPER::upload(@name) if @name;
    my @all = map { $self->_upload($_) } $self->_uploads;
    $all[$_]{next} = $all[ $_ + 1 ] for 0 .. $#all - 1;
    return wantarray ? @all : $all[0];
}

sub _upload { my ($self, $parts) = @_; return Apache::Upload->of_upload($self, @$parts) }

sub expires {
    my ($self, $when) = @_;
    require APR::Request::Cookie;
    return APR::Request::Cookie::_date($when) =~ tr/-/ /r;
}

sub script_name { my ($self) = @_; return substr $self->uri, 0, length($self->uri) - length($self->path_info // '') }
sub script_path { my ($self) = @_; return $self->script_name =~ s{[^/]*\z}{}r }

1;

__END__

=head1 NAME

Apache::Request - libapreq 1's request

=head1 SYNOPSIS

    use Apache::Request ();

    sub handler {
        my $r = shift;
        my $form = Apache::Request->instance($r, POST_MAX => 1 << 20);
        my $status = $form->parse;
        return $status if $status;
        my $name = $form->param('name');
        return 0;
    }

=head1 DESCRIPTION

The class is an L<Apache2::Request> and an L<Apache>. C<new> and C<instance> take the options of
Apache2::Request.

=head1 METHODS

=over 4

=item parse

Parses the form. Returns 0, or the status for an invalid form: 413, 403 or 400.

=item param([NAME, [VALUES]])

Returns the first value of a parameter, or all values in list context. VALUES, or a reference to an
array of values, replace the old values. Without a NAME, it returns the table, or the names in list
context.

=item parms([NAME]), params([NAME])

Return the table of all parameters. With a NAME, they return the values of this parameter.

=item query_params, post_params

Return the table of the query's parameters, and the table of the body's parameters.

=item args([QUERY])

Returns what C<< $r->args >> returns, and not parameters.

=item upload([NAME])

Returns the upload with this NAME. Without a NAME, it returns all uploads in list context, else the
first upload, whose method C<next> returns the next upload.

=item expires(TIME)

Returns the date of a time such as C<+3h>.

=item script_name, script_path

C<script_name> returns the path without C<path_info>. C<script_path> returns the folder in this
path.

=back

=head1 DIFFERENCES

Forms are parsed as libapreq2 parses them.

=head1 SEE ALSO

L<Apache2::Request>, L<Apache::Upload>, L<Apache::Cookie>.

=cut
