package Apache2::Command;

# Represents a directive as its module defines it. In the list for Apache2::Module::add it is a
# hash, or an object with methods of the same names.

use strict;
use warnings;
use Apache2::Const ();

# Makes the object from an entry; dies if the entry is not a command.
sub of {
    my ($class, $entry) = @_;
    my $get = sub {
        my ($key) = @_;
        return eval { ref $entry eq 'HASH' ? $entry->{$key} : $entry->$key };
    };
    my $name = $get->('name');
    defined $name && $name =~ m{\A(?:<?\w[\w.:-]*|</\w[\w.:-]*>)\z} or die 'Apache2::Module::add: a command has no name' . (defined $name ? " (`$name`)" : '') . "\n";
    my $data = $get->('cmd_data');
    return bless {
        name         => $name,
        args_how     => _number($name, 'args_how', $get->('args_how'), Apache2::Const::TAKE1()),
        req_override => _number($name, 'req_override', $get->('req_override'), Apache2::Const::OR_ALL()),
        func         => $get->('func') // $name =~ s/\A<//r,
        errmsg       => $get->('errmsg') // "$name command",
        cmd_data     => $data // $get->('data'),
    }, $class;
}

# Returns the number of a constant, which is given as a number or by name.
sub _number {
    my ($command, $key, $value, $default) = @_;
    return $default unless defined $value;
    return $value + 0 if $value =~ /\A\d+\z/;
    my $constant = Apache2::Const->can($value =~ s/\A(?:Apache2::Const::)?//r)
        or die "Apache2::Module::add: $key of $command is `$value`, expected a constant of Apache2::Const\n";
    return $constant->();
}

sub name         { return $_[0]{name} }
sub args_how     { return $_[0]{args_how} }
sub req_override { return $_[0]{req_override} }
sub errmsg       { return $_[0]{errmsg} }
sub func         { return $_[0]{func} }
sub cmd_data     { return $_[0]{cmd_data} }
sub next         { return $_[0]{'next in module'} }

1;

__END__

=head1 NAME

Apache2::Command - a directive as its module defines it

=head1 SYNOPSIS

    my %entry = (
        name => 'MyWord', func => 'my_word', args_how => 'TAKE1',
        req_override => 'OR_ALL', errmsg => 'MyWord WORD', cmd_data => 'any value',
    );

=head1 DESCRIPTION

An entry for C<Apache2::Module::add> is a hash with these keys, or an object with methods of these
names. A directive whose name begins with C<< < >> is a section. C<func> is the method that handles
a line, and defaults to the name. C<args_how> defaults to TAKE1, and C<req_override> defaults to
OR_ALL. Both may be numbers, or names of constants of L<Apache2::Const>.

=head1 METHODS

=over 4

=item name, args_how, req_override, errmsg, func, cmd_data

Return the parts of the entry.

=item next

Returns the next command of the module, or undef.

=back

=head1 ERRORS

An entry without a valid name, or with an unknown constant, is an error: C<Apache2::Module::add>
dies with a line that begins with C<Apache2::Module::add:>.

=head1 DIFFERENCES

Only directives of mod_perl.c and of Perl modules have an object of this class. The server's other
directives have none.

=head1 SEE ALSO

L<Apache2::Module>, L<Apache2::CmdParms>.

=cut
