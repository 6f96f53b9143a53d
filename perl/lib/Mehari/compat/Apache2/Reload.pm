package Apache2::Reload;

# Reloads changed modules: `PerlInitHandler Apache2::Reload`, with PerlSetVar ReloadAll,
# ReloadModules, ReloadDirectories, ReloadTouchFile, ReloadDebug, ReloadConstantRedefineWarnings. A
# server with `--watch` does not need it.

use strict;
use warnings;
use Apache2::Const      ();
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::ServerUtil ();
use ModPerl::Util       ();

our $VERSION = '0.13';

our %INCS;      # path in @INC => file, of the registered modules
our %Stat = ($INC{'Apache2/Reload.pm'} => time);
our %UndefFields;

# `use Apache2::Reload;` in a module registers the module.
sub import {
    my ($package) = caller;
    register_module(undef, $package) unless $package eq 'main';
    return;
}

sub register_module { my ($class, $package, $file) = @_; my $key = ($package =~ s{::}{/}gr) . '.pm'; $INCS{$key} = $file || $INC{$key}; return }

sub unregister_module { my ($class, $package) = @_; delete $INCS{ ($package =~ s{::}{/}gr) . '.pm' }; return }

sub handler {
    my $r = pop;
    my %set = map { $_ => $r->dir_config("Reload$_") } qw(All Modules Directories TouchFile Debug ByModuleName ConstantRedefineWarnings);
    my $all = lc($set{All} // 'on') ne 'off';
    if (my $touch = $set{TouchFile}) {
        my $changed = (stat $touch)[9] or return Apache2::Const::OK;
        return Apache2::Const::OK if ($Stat{$touch} // $changed) == $changed && defined $Stat{$touch};
        $Stat{$touch} = $changed;
    }
    my %look = $all ? %INC : (%INCS, _named($set{Modules}));
    my @folders = split ' ', $set{Directories} // '';
    my @changed = grep { _has_changed($look{$_}, \@folders, $all) } sort keys %look;
    _reload($_, $set{Debug}) for @changed;
    return Apache2::Const::OK;
}

# Returns the modules that ReloadModules names. `Foo::*` stands for all modules below Foo.
sub _named {
    my ($words) = @_;
    my %found;
    for my $word (split ' ', $words // '') {
        my $file = $word =~ s{::}{/}gr;
        my $pattern = $file =~ s/\*\z// ? qr/\A\Q$file\E/ : qr/\A\Q$file\E\.pm\z/;
        $found{$_} = $INC{$_} for grep { $_ =~ $pattern } keys %INC;
    }
    return %found;
}

sub _has_changed {
    my ($file, $folders, $all) = @_;
    return 0 unless defined $file && !ref $file;
    return 0 if @$folders && !grep { index($file, $_) == 0 } @$folders;
    my $changed = (stat $file)[9] or return 0;
    my $before = $Stat{$file} // ($^T > $changed ? $changed : $^T);
    $Stat{$file} = $changed;
    return $changed > $before;
}

sub _reload {
    my ($key, $debug) = @_;
    Mehari::log_line(6, "Apache2::Reload: reading $key again") if $debug;
    my $package = $key =~ s/\.pm\z//r =~ s{/}{::}gr;
    ModPerl::Util::unload_package($package) if $key =~ /\.pm\z/;
    delete $INC{$key};
    no warnings 'redefine';
    local $SIG{__WARN__} = sub { warn @_ unless $_[0] =~ /\A(?:Constant s|S)ubroutine \S+ redefined/ };
    require $key;
    return;
}

1;

__END__

=head1 NAME

Apache2::Reload - reload changed modules

=head1 SYNOPSIS

    PerlInitHandler Apache2::Reload
    PerlSetVar ReloadAll Off
    PerlSetVar ReloadModules "My::Handler My::Parts::*"

=head1 DESCRIPTION

At each request the handler looks for loaded modules whose files have changed, and loads these
modules again. C<use Apache2::Reload;> in a module registers the module.

=head1 VARIABLES

=over 4

=item ReloadAll

With C<Off>, the handler looks only at registered modules and at the modules of ReloadModules. By
default, the handler looks at all modules.

=item ReloadModules

Names of modules, separated by blanks. C<My::*> stands for all modules below C<My>.

=item ReloadDirectories

The handler looks only at files below these folders.

=item ReloadTouchFile

The handler looks for changes only if this file has changed.

=item ReloadDebug

The handler logs the modules that it loads again.

=back

=head1 FUNCTIONS

=over 4

=item handler(R)

Loads changed modules again. Returns OK. Dies if a module does not compile.

=back

=head1 CLASS METHODS

=over 4

=item register_module(PACKAGE, [FILE]), unregister_module(PACKAGE)

Register a module, or undo this.

=back

=head1 DIFFERENCES

ReloadByModuleName and ReloadConstantRedefineWarnings have no effect. A server that runs with
C<--watch> does not need this handler, because it replaces all workers (the processes that run Perl
code) when a file has changed.

=head1 SEE ALSO

L<Apache::Reload>, L<Apache::StatINC>.

=cut
